"""Models of an evaluation: own prices, one budget, and recordings where there is no endpoint."""

from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.wiring import open_models
from facet_dagster.errors import BudgetSpent
from facet_dagster.records.call import CallId, ChatRequest, Message, Role
from facet_dagster.settings import Settings
from facet_dagster.testing.http_endpoint import HttpEndpoint, answer


def a_request(subject: str) -> ChatRequest:
    return ChatRequest(
        call=CallId(station="rollout.teacher", subject=subject, turn=1),
        role=Role.TEACHER,
        messages=(Message(role="user", content="Go."),),
        prompt_hash="p",
    )


def settings_of(tmp_path: Path, url: str | None, **budget: float) -> Settings:
    models = {
        "base_url": url,
        "prices": {"teacher": {"prompt": 1e6, "completion": 0}},
        "model_prices": {"dear": {"prompt": 2e6, "completion": 1e6}},
    }
    return Settings.model_validate({"store": str(tmp_path), "models": models, "budget": budget})


async def test_each_model_is_asked_by_its_name_at_its_price_on_one_budget(tmp_path: Path) -> None:
    with HttpEndpoint([answer("yes")]) as endpoint:  # of 11 tokens sent and 7 received
        settings = settings_of(tmp_path, endpoint.url, usd=12.0)
        opened = open_models(settings, ["cheap", "dear"], ParquetStore(settings.store), "run")
        cheap = await opened["cheap"].model.complete(a_request("a"))
        assert opened["cheap"].ledger.cost(Role.TEACHER, cheap) == pytest.approx(11)
        dear = await opened["dear"].model.complete(a_request("b"))
        assert opened["dear"].ledger.cost(Role.TEACHER, dear) == pytest.approx(29)
        assert [request["model"] for request in endpoint.requests] == ["cheap", "dear"]
        assert opened["cheap"].ledger.spent() == opened["dear"].ledger.spent() == (36, pytest.approx(40))
        for name in ("cheap", "dear"):
            with pytest.raises(BudgetSpent):
                await opened[name].model.complete(a_request("c"))
        assert not opened["cheap"].recorded


async def test_the_same_words_to_two_models_are_two_calls(tmp_path: Path) -> None:
    with HttpEndpoint([answer("yes")]) as endpoint:
        settings = settings_of(tmp_path, endpoint.url)
        opened = open_models(settings, ["one", "two"], ParquetStore(settings.store), "run")
        for name in ("one", "two", "one"):
            await opened[name].model.complete(a_request("a"))
        assert [request["model"] for request in endpoint.requests] == ["one", "two"]


def test_without_an_endpoint_the_recordings_answer(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, None, usd=1.0)
    assert open_models(settings, ["any"], ParquetStore(settings.store), "run")["any"].recorded
