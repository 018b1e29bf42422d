"""OpenAIModel against a real local HTTP server: faults, retries, what is left out when it is refused."""

import asyncio
import gc
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from facet_dagster.adapters.openai_model import OpenAIModel
from facet_dagster.errors import ContextOverflow, ModelRefused, ModelUnavailable
from facet_dagster.records.call import IMPOSSIBLE, CallId, ChatRequest, Completion, Message, Role
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, answer, failure

SCHEMA = {"type": "object"}


def request(schema: dict[str, str] | None = None) -> ChatRequest:
    return ChatRequest(
        call=CallId(station="scenario.analysis", subject="seed-1"),
        role=Role.AUTHOR,
        messages=(Message(role="user", content="x" * 40),),
        prompt_hash="p",
        answer_schema=schema,
    )


class Naps:
    """Stands in for sleeping; keeps how long it was meant to take."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model(url: str, naps: Naps, *, retries: int = 3, timeout_s: float = 30.0, structured: bool = True) -> OpenAIModel:
    names = dict.fromkeys(Role, "some-model")
    return OpenAIModel(url, "key", names, timeout_s=timeout_s, retries=retries, structured=structured, sleep=naps)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def naps() -> Naps:
    return Naps()


async def ask(replies: Sequence[Reply], naps: Naps, **options: int | float | bool) -> tuple[str, int]:
    """Text of the answer and the number of requests that it took."""
    with HttpEndpoint(replies) as endpoint:
        completion = await model(endpoint.url, naps, **options).complete(request())  # type: ignore[arg-type]
        return completion.text, len(endpoint.requests)


async def test_an_answer_keeps_text_usage_and_finish_reason(naps: Naps) -> None:
    with HttpEndpoint([answer('{"a": 1}', finish_reason="length")]) as endpoint:
        completion = await model(endpoint.url, naps).complete(request())
    assert completion.text == '{"a": 1}'
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 7)
    assert completion.finish_reason == "length"
    assert completion.model == "some-model"
    assert not completion.recorded
    assert endpoint.headers[0]["authorization"] == "Bearer key"
    assert endpoint.requests[0]["messages"] == [{"role": "user", "content": "x" * 40}]
    assert naps.seconds == []


async def test_missing_usage_is_estimated(naps: Naps) -> None:
    with HttpEndpoint([answer("y" * 20, usage=False)]) as endpoint:
        completion = await model(endpoint.url, naps).complete(request())
    assert (completion.prompt_tokens, completion.completion_tokens) == (10, 5)
    assert completion.estimated


@pytest.mark.parametrize(
    ("cost", "kept"), [(0.25, 0.25), (0, 0.0), ("free", None), (True, None), (-1, None), (None, None)]
)
async def test_what_the_endpoint_says_that_it_charged_is_kept(cost: object, kept: float | None, naps: Naps) -> None:
    with HttpEndpoint([answer("y", cost=cost)]) as endpoint:
        completion = await model(endpoint.url, naps).complete(request())
    assert (completion.estimated, completion.reported_usd) == (False, kept)


@pytest.mark.parametrize("text", [None, ""])
async def test_an_empty_answer_is_empty_text(text: str | None, naps: Naps) -> None:
    assert await ask([answer(text)], naps) == ("", 1)


async def test_500_then_ok(naps: Naps) -> None:
    assert await ask([failure(500, "oops"), failure(503, "busy"), answer("fine")], naps) == ("fine", 3)
    assert len(naps.seconds) == 2
    assert naps.seconds[1] > 1.9, "the wait grows"


async def test_429_waits_as_long_as_the_endpoint_asks(naps: Naps) -> None:
    assert await ask([failure(429, "slow down", retry_after="42"), answer("fine")], naps) == ("fine", 2)
    assert naps.seconds == [42.0]


async def test_retry_after_may_be_a_date(naps: Naps) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    assert await ask([failure(503, "maintenance", retry_after=then), answer("fine")], naps) == ("fine", 2)
    assert 30 < naps.seconds[0] <= 50


@pytest.mark.parametrize(("asked", "expected"), [("3600", 60.0), ("soon", None), ("0", None)])
async def test_retry_after_is_capped_and_nonsense_is_ignored(asked: str, expected: float | None, naps: Naps) -> None:
    assert await ask([failure(429, "slow down", retry_after=asked), answer("fine")], naps) == ("fine", 2)
    assert naps.seconds[0] == expected if expected else 0 < naps.seconds[0] < 5


async def test_retries_are_bounded(naps: Naps) -> None:
    with HttpEndpoint([failure(500, "oops")]) as endpoint:
        with pytest.raises(ModelUnavailable, match=r"answered 500 .* in 4 tries: .*oops"):
            await model(endpoint.url, naps, retries=3).complete(request())
        assert len(endpoint.requests) == 4
    assert len(naps.seconds) == 3


@pytest.mark.parametrize(
    ("status", "setting"),
    [(401, "FACET_LLM_API_KEY"), (403, "FACET_LLM_API_KEY"), (404, "FACET_LLM_BASE_URL"), (400, "model name")],
)
async def test_refusals_are_not_retried_and_name_the_setting(status: int, setting: str, naps: Naps) -> None:
    with HttpEndpoint([failure(status, "no\nway")]) as endpoint:
        with pytest.raises(ModelRefused, match=setting) as caught:
            await model(endpoint.url, naps).complete(request())
        assert len(endpoint.requests) == 1
    assert "\n" not in str(caught.value)
    assert naps.seconds == []


async def test_down(naps: Naps) -> None:
    with HttpEndpoint([answer("never")]) as endpoint:
        url = endpoint.url
    with pytest.raises(ModelUnavailable, match=r"cannot be reached in 3 tries: check FACET_LLM_BASE_URL"):
        await model(url, naps, retries=2).complete(request())
    assert len(naps.seconds) == 2


async def test_slow(naps: Naps) -> None:
    silent = HttpEndpoint([Reply(hold=True)])
    with silent as endpoint, pytest.raises(ModelUnavailable, match="did not answer within"):
        await model(endpoint.url, naps, retries=1, timeout_s=0.3).complete(request())
    assert len(naps.seconds) == 1, "a try that takes too long is made again"


async def test_a_page_instead_of_json_is_a_wrong_address(naps: Naps) -> None:
    page = Reply(200, b"<html>Welcome</html>", {"content-type": "text/html"})
    with HttpEndpoint([page]) as endpoint, pytest.raises(ModelRefused, match="FACET_LLM_BASE_URL"):
        await model(endpoint.url, naps).complete(request())


@pytest.mark.parametrize("body", [b'{"error": {"message": "upstream is down"}}', b'{"id": "1", "choices": [', b"null"])
async def test_a_200_that_is_no_completion_is_asked_again(body: bytes, naps: Naps) -> None:
    assert await ask([Reply(200, body), answer("fine")], naps) == ("fine", 2)


async def test_the_schema_is_sent_and_given_up_for_good_when_refused(naps: Naps) -> None:
    replies = [failure(400, "response_format is not supported"), answer("a"), answer("b")]
    with HttpEndpoint(replies) as endpoint:
        asked = model(endpoint.url, naps)
        assert (await asked.complete(request(SCHEMA))).text == "a"
        assert (await asked.complete(request(SCHEMA))).text == "b"
    sent = [body.get("response_format") for body in endpoint.requests]
    assert sent[0] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert sent[1:] == [None, None]


async def test_a_500_about_the_schema_is_answered_without_it_and_without_waiting(naps: Naps) -> None:
    """llama-cpp-python's server reports a response_format that it does not know as a 500."""
    replies = [failure(500, "1 validation error: ('body', 'response_format', 'type')"), answer("a"), answer("b")]
    with HttpEndpoint(replies) as endpoint:
        chat = model(endpoint.url, naps)
        texts = [(await chat.complete(request(SCHEMA))).text for _ in range(2)]
        assert texts == ["a", "b"]
        assert ["response_format" in asked for asked in endpoint.requests] == [True, False, False]
    assert naps.seconds == []


async def test_a_400_that_stays_does_not_give_up_the_schema(naps: Naps) -> None:
    replies = [failure(400, "too long"), failure(400, "too long"), answer("b")]
    with HttpEndpoint(replies) as endpoint:
        asked = model(endpoint.url, naps)
        with pytest.raises(ModelRefused, match="too long"):
            await asked.complete(request(SCHEMA))
        await asked.complete(request(SCHEMA))
    assert "response_format" in endpoint.requests[2]


async def test_a_renamed_or_refused_parameter_is_answered(naps: Naps) -> None:
    replies = [failure(400, "use max_completion_tokens, not 'max_tokens'"), failure(400, "temperature"), answer("a")]
    with HttpEndpoint(replies) as endpoint:
        assert (await model(endpoint.url, naps).complete(request())).text == "a"
    last = endpoint.requests[2]
    assert last["max_completion_tokens"] == request().max_tokens
    assert not {"max_tokens", "temperature"} & set(last)


async def test_no_schema_is_sent_when_structured_answers_are_off(naps: Naps) -> None:
    with HttpEndpoint([answer("a")]) as endpoint:
        await model(endpoint.url, naps, structured=False).complete(request(SCHEMA))
    assert "response_format" not in endpoint.requests[0]


def test_one_model_serves_several_event_loops(naps: Naps) -> None:
    with HttpEndpoint([answer("a")]) as endpoint:
        shared = model(endpoint.url, naps)
        texts = [asyncio.run(shared.complete(request())).text for _ in range(3)]
    assert texts == ["a", "a", "a"]


def test_a_loop_that_ended_leaves_nothing_for_the_next_one_to_close(naps: Naps) -> None:
    """Regression: the second scheme of a comparison began with the traceback of the first one's connections."""
    complaints: list[str] = []

    async def earlier() -> None:
        loop = asyncio.get_running_loop()
        loop.__dict__["itself"] = loop  # a loop is often part of a cycle, and freed long after it ended
        await model(endpoint.url, naps).complete(request())

    async def later() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        gc.collect()
        await asyncio.sleep(0.05)
        gc.collect()

    with HttpEndpoint([answer("one")]) as endpoint:
        asyncio.run(earlier())
        asyncio.run(later())
    assert complaints == []


async def test_token_details_are_asked_for_and_read(naps: Naps) -> None:
    body = json.loads(answer("hi").body)
    body["prompt_token_ids"] = [1, 2]
    logprobs = {"content": [{"token": "hi", "logprob": -0.25, "bytes": None, "top_logprobs": []}], "refusal": None}
    body["choices"][0] |= {"token_ids": [3], "logprobs": logprobs}
    asked = request().model_copy(update={"token_details": True})
    with HttpEndpoint([Reply(body=json.dumps(body).encode())]) as endpoint:
        completion = await model(endpoint.url, naps).complete(asked)
        plain = await model(endpoint.url, naps).complete(request())
    assert (completion.prompt_token_ids, completion.completion_token_ids) == ((1, 2), (3,))
    assert completion.logprobs == (-0.25,) and plain.logprobs is None
    assert endpoint.requests[0]["return_token_ids"] is True and endpoint.requests[0]["logprobs"] is True
    assert not {"return_token_ids", "logprobs"} & set(endpoint.requests[1])


async def test_an_endpoint_without_token_details_answers_all_the_same(naps: Naps) -> None:
    refusals = [failure(400, "unknown field return_token_ids"), failure(400, "logprobs is not supported")]
    asked = request().model_copy(update={"token_details": True})
    with HttpEndpoint([*refusals, answer("hi")]) as endpoint:
        asker = model(endpoint.url, naps)
        completion = await asker.complete(asked)
        await asker.complete(asked)
    assert completion.text == "hi" and completion.logprobs is None and len(endpoint.requests) == 4


async def test_a_dialogue_that_is_too_long_is_told_apart(naps: Naps) -> None:
    said = "This model's maximum context length is 8192 tokens, however you requested 9000"
    with HttpEndpoint([failure(400, said)]) as endpoint, pytest.raises(ContextOverflow, match="8192"):
        await model(endpoint.url, naps).complete(request())


@pytest.mark.parametrize("said", [float("-inf"), float("nan")])
def test_an_impossible_token_does_not_make_the_store_unreadable(said: float) -> None:
    kept = Completion(text="a", model="m", prompt_tokens=1, completion_tokens=1, logprobs=(said, -0.5))
    assert Completion.model_validate_json(kept.model_dump_json()).logprobs == (IMPOSSIBLE, -0.5)


@pytest.mark.parametrize("before", [200, 270, 290])
async def test_a_key_that_a_200_says_back_is_taken_out_wherever_it_stands(before: int, naps: Naps) -> None:
    """Taken out first, cut after: of a key that is cut, the beginning would stay."""
    key = "sk-" + "0123456789" * 4
    body = json.dumps({"error": "x" * before + key}).encode()
    with HttpEndpoint([Reply(body=body)]) as endpoint, pytest.raises(ModelUnavailable, match="xxx") as caught:
        names = dict.fromkeys(Role, "m")
        chat = OpenAIModel(endpoint.url, key, names, timeout_s=30.0, retries=0, structured=True, sleep=naps)
        await chat.complete(request())
    assert "sk-" not in str(caught.value)
