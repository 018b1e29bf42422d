"""What every ChatModel must do: scripted, recorded, over HTTP, and metered."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.openai_model import OpenAIModel
from facet_dagster.adapters.recorded_model import RecordedModel
from facet_dagster.errors import ModelError
from facet_dagster.ports import ChatModel
from facet_dagster.records.call import CallId, ChatRequest, Message, Role
from facet_dagster.records.recording import RecordedCall
from facet_dagster.testing.http_endpoint import HttpEndpoint, answer, failure
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.scripted_model import ScriptedModel

NAMES = dict.fromkeys(Role, "m")
TEXT = '{"said": "ünï"}'


def request(station: str = "seeds.judge", attempt: int = 0) -> ChatRequest:
    return ChatRequest(
        call=CallId(station=station, subject="seed-1", attempt=attempt),
        role=Role.JUDGE,
        messages=(Message(role="system", content="be brief"), Message(role="user", content="hello")),
        prompt_hash="p",
    )


def _recorded(folder: Path) -> RecordedModel:
    lines = [
        RecordedCall(
            call=request(attempt=n).call,
            role=Role.JUDGE,
            model="m",
            prompt_hash="p",
            opening_hash=request().opening_hash(),
            text=TEXT,
            prompt_tokens=3,
            completion_tokens=2,
            finish_reason="stop",
        ).model_dump_json()
        for n in range(4)
    ]
    (folder / "seed-1.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return RecordedModel(folder)


@pytest.fixture(params=["scripted", "recorded", "http", "metered"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatModel]:
    """Answers TEXT to `seeds.judge`, and has no answer for any other station."""
    scripted = ScriptedModel({"seeds.judge": lambda _: TEXT})
    if request.param == "scripted":
        yield scripted
    elif request.param == "recorded":
        yield _recorded(tmp_path)
    elif request.param == "metered":
        store = MemoryStore()
        ledger = StoreLedger(store, names=NAMES, prices={}, budget_tokens=None, budget_usd=None, run_id="r")
        yield MeteredModel(scripted, store=store, ledger=ledger, names=NAMES, in_flight=2)
    else:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        replies = [failure(404, "no such model")] if "no_answer" in request.node.name else [answer(TEXT)]
        with HttpEndpoint(replies) as endpoint:
            yield OpenAIModel(endpoint.url, "", NAMES, timeout_s=30, retries=0, structured=True)


async def test_an_answer_has_text_tokens_and_a_finish_reason(model: ChatModel) -> None:
    completion = await model.complete(request())
    assert completion.text == TEXT
    assert completion.prompt_tokens > 0
    assert completion.completion_tokens > 0
    assert completion.finish_reason == "stop"
    assert completion.model


async def test_several_may_ask_at_once(model: ChatModel) -> None:
    answers = await asyncio.gather(*(model.complete(request(attempt=n)) for n in range(4)))
    assert [a.text for a in answers] == [TEXT] * 4


async def test_only_replayed_answers_are_marked_as_recorded(model: ChatModel) -> None:
    assert (await model.complete(request())).recorded == isinstance(model, RecordedModel)


async def test_no_answer_is_trouble_of_the_model_in_one_line(model: ChatModel) -> None:
    with pytest.raises(ModelError) as caught:
        await model.complete(request("seeds.unknown"))
    assert "\n" not in str(caught.value)
