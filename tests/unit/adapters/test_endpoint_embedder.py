"""EndpointEmbedder against a real local HTTP server: batches, money before use, senseless answers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from facet_dagster.adapters.endpoint_embedder import EndpointEmbedder
from facet_dagster.errors import BudgetSpent, ModelRefused, ModelUnavailable
from facet_dagster.records.call import Role
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, embeddings, failure
from facet_dagster.testing.memory_ledger import MemoryLedger


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


async def no_sleep(_: float) -> None:
    return None


def embedder(url: str, ledger: MemoryLedger, key: str = "secret", **changes: Any) -> EndpointEmbedder:
    settings: dict[str, Any] = {
        "run_id": "run",
        "variables": "FACET_EMBED",
        "timeout_s": 10.0,
        "retries": 2,
        "batch": 2,
        "in_flight": 1,
        "sleep": no_sleep,
    }
    return EndpointEmbedder(url, key, "words", ledger, **{**settings, **changes})


def lengths(request: dict[str, Any]) -> Reply:
    """The vector of a text is its length and 1."""
    return embeddings([[float(len(text)), 1.0] for text in request["input"]], tokens=5)


async def test_batches_come_back_in_order_as_unit_vectors_and_are_paid_for() -> None:
    ledger = MemoryLedger()
    with HttpEndpoint([lengths]) as endpoint:
        vectors = await embedder(endpoint.url, ledger, in_flight=4).embed(["a", "bb", "ccc", "dddd", "eeeee"])
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [1, 2, 3, 4, 5], rtol=1e-5)
    assert sorted(len(request["input"]) for request in endpoint.requests) == [1, 2, 2]
    assert {request["model"] for request in endpoint.requests} == {"words"}
    assert endpoint.headers[0]["authorization"] == "Bearer secret"
    assert [(c.role, c.call.station, c.call.subject) for c, _ in ledger.calls] == [
        (Role.EMBEDDER, "seeds.embed", "embeddings-run")
    ] * 3
    assert ledger.spent()[0] == 15


async def test_what_was_paid_is_in_the_ledger_even_if_the_answer_is_senseless() -> None:
    ledger = MemoryLedger()
    with HttpEndpoint([embeddings([[1.0, 0.0]])]) as endpoint, pytest.raises(ModelRefused, match="1 vectors for 2"):
        await embedder(endpoint.url, ledger).embed(["a", "b"])
    assert ledger.spent()[0] == 11


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (embeddings([[1.0, 2.0], [1.0]]), "vectors of 1 and of 2 numbers"),
        (embeddings([[], []]), "vectors of 0"),
        (embeddings([[1.0, 2.0], [0.0, 0.0]]), "have no length"),
        (embeddings([[1.0, 2.0], [float("nan"), 0.0]]), "not finite"),
        (embeddings([[1.0, 2.0], [float("inf"), 0.0]]), "not finite"),
    ],
)
async def test_senseless_vectors_are_a_clear_error(reply: Reply, said: str) -> None:
    with HttpEndpoint([reply]) as endpoint, pytest.raises(ModelRefused, match=said) as caught:
        await embedder(endpoint.url, MemoryLedger()).embed(["a", "b"])
    assert "FACET_MODEL_EMBEDDER" in str(caught.value) and len(str(caught.value).splitlines()) == 1


async def test_batches_of_different_lengths_are_a_clear_error() -> None:
    replies = [embeddings([[1.0, 2.0]] * 2), embeddings([[1.0, 2.0, 3.0]] * 2)]
    with HttpEndpoint(replies) as endpoint, pytest.raises(ModelRefused, match="vectors of 2 and of 3 numbers"):
        await embedder(endpoint.url, MemoryLedger()).embed(["a", "b", "c", "d"])


async def test_a_spent_budget_asks_for_no_further_batch() -> None:
    with HttpEndpoint([lengths]) as endpoint, pytest.raises(BudgetSpent):
        await embedder(endpoint.url, MemoryLedger(budget_tokens=8)).embed(["a"] * 20)
    assert len(endpoint.requests) == 2  # of ten: 5 tokens each


@pytest.mark.parametrize(
    "first",
    [
        failure(429, "slow down"),
        failure(503, "busy"),
        Reply(body=b'{"object": "list", "data": []}'),
        Reply(body=b'{"d'),
    ],
)
async def test_what_may_pass_is_tried_again(first: Reply) -> None:
    with HttpEndpoint([first, lengths]) as endpoint:
        vectors = await embedder(endpoint.url, MemoryLedger()).embed(["a"])
    assert vectors.shape == (1, 2) and len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (failure(401, "no"), ModelRefused, "check FACET_EMBED_API_KEY"),
        (failure(404, "no"), ModelRefused, "FACET_EMBED_BASE_URL"),
        (failure(500, "broken"), ModelUnavailable, "in 3 tries"),
        (Reply(body=b"<html>", headers={"content-type": "text/html"}), ModelRefused, "a page, not JSON"),
    ],
)
async def test_faults_say_what_to_check(reply: Reply, error: type[Exception], said: str) -> None:
    ledger = MemoryLedger()
    with HttpEndpoint([reply]) as endpoint, pytest.raises(error, match=said):
        await embedder(endpoint.url, ledger).embed(["a"])
    assert ledger.calls == []


async def test_a_key_that_a_200_says_back_is_taken_out_before_the_text_is_cut() -> None:
    body = json.dumps({"error": "x" * 296 + "secret-0123456789"}).encode()
    with HttpEndpoint([Reply(body=body)]) as endpoint, pytest.raises(ModelUnavailable, match="xxx") as caught:
        await embedder(endpoint.url, MemoryLedger(), key="secret-0123456789").embed(["a"])
    assert "sec" not in str(caught.value)


async def test_missing_usage_is_estimated() -> None:
    ledger = MemoryLedger()
    with HttpEndpoint([embeddings([[1.0, 2.0]], tokens=None)]) as endpoint:
        await embedder(endpoint.url, ledger).embed(["x" * 40])
    assert ledger.spent()[0] == 10
    assert ledger.calls[0][1].estimated


def up_to(limit: int, status: int = 400) -> Callable[[dict[str, Any]], Reply]:
    """An endpoint that refuses a whole batch for one text that is too long for it."""

    def reply(request: dict[str, Any]) -> Reply:
        long = any(len(text) > limit for text in request["input"])
        return failure(status, "maximum context length exceeded") if long else lengths(request)

    return reply


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_text_that_is_too_long_costs_its_tail_and_nothing_else(status: int) -> None:
    ledger, texts = MemoryLedger(), ["a", "bb", "c" * 40, "dddd", "eeeee"]
    with HttpEndpoint([up_to(10, status)]) as endpoint:
        vectors = await embedder(endpoint.url, ledger, batch=8).embed(texts)
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [1, 2, 10, 4, 5], rtol=1e-5)
    paid = [message.content for request, _ in ledger.calls for message in request.messages]
    assert paid == ["a", "bb", "c" * 10, "dddd", "eeeee"]  # each once


async def test_a_text_that_is_refused_however_short_ends_it_soon() -> None:
    ledger = MemoryLedger()
    with HttpEndpoint([failure(400, "no such thing")]) as endpoint, pytest.raises(ModelRefused, match="no such thing"):
        await embedder(endpoint.url, ledger, batch=64).embed(["x" * 1_000] * 640)
    assert len(endpoint.requests) <= 7 + 6
    assert ledger.calls == []


async def test_a_wrong_key_is_not_asked_with_in_parts() -> None:
    with HttpEndpoint([failure(401, "no")]) as endpoint, pytest.raises(ModelRefused, match="API_KEY"):
        await embedder(endpoint.url, MemoryLedger()).embed(["aaaa", "bbbb"])
    assert len(endpoint.requests) == 1


async def test_what_came_before_trouble_is_told_of() -> None:
    def two_letters_are_trouble(request: dict[str, Any]) -> Reply:
        return failure(401, "no") if "bb" in request["input"] else lengths(request)

    came: dict[int, Any] = {}
    with HttpEndpoint([two_letters_are_trouble]) as endpoint, pytest.raises(ModelRefused):
        await embedder(endpoint.url, MemoryLedger(), batch=1).embed(["a", "ccc", "bb", "dddd"], came.__setitem__)
    assert sorted(came) == [0, 1]
    came.clear()

    def halves(request: dict[str, Any]) -> Reply:
        return failure(400, "too many") if len(request["input"]) > 1 else two_letters_are_trouble(request)

    with HttpEndpoint([halves]) as endpoint, pytest.raises(ModelRefused):
        await embedder(endpoint.url, MemoryLedger(), batch=4).embed(["a", "ccc", "bb", "dddd"], came.__setitem__)
    assert sorted(came) == [0, 1]
