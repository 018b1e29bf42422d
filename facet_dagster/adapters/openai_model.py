"""A chat model behind an OpenAI-compatible endpoint: the `openai` client, our own bounded retries, clear errors.

Belongs here: getting one answer out of an endpoint. Money and replay stand in metered_model.py.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import inf
from typing import Any

import openai
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from facet_dagster.adapters.openai_trouble import FAULTS, Endpoint, Unusable, named_parts
from facet_dagster.adapters.per_loop import PerLoop
from facet_dagster.errors import ModelRefused
from facet_dagster.records.call import ChatRequest, Completion, Role


class OpenAIModel:
    """ChatModel over HTTP. What an endpoint turns out not to support is left out for the rest of the process.

    `names` are the model names by role, `timeout_s` bounds one try, `retries` the tries after the first.
    Raises ModelRefused where asking again cannot help, ModelUnavailable when the retries are used up.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        names: Mapping[Role, str],
        *,
        timeout_s: float,
        retries: int,
        structured: bool,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = Endpoint(base_url, "FACET_LLM", api_key, timeout_s, retries, sleep)
        self._names = names
        self._unsupported: set[str] = set() if structured else {"response_format"}
        self._client = PerLoop(self._connect)

    async def complete(self, request: ChatRequest) -> Completion:
        """One answer; `seconds` counts the waiting, too."""
        started = time.monotonic()
        try:
            answer = await self._supported(request)
        except FAULTS as error:
            raise self._endpoint.trouble(error, self._names[request.role], "completion") from None
        return self._completion(request, answer, time.monotonic() - started)

    async def _supported(self, request: ChatRequest) -> ChatCompletion:
        """Ask; where the endpoint refuses an optional part of the request, ask again without it."""
        refused: set[str] = set()
        while True:
            try:
                arguments = self._arguments(request, self._unsupported | refused)
                answer = await self._endpoint.persistently(partial(self._once, arguments))
            except openai.APIStatusError as error:
                part = _refused_part(error, self._arguments(request, self._unsupported | refused))
                if part is None:
                    raise
                refused.add(part)
                continue
            self._unsupported |= refused  # only now is it sure that the part, and nothing else, was the trouble
            return answer

    async def _once(self, arguments: dict[str, Any]) -> ChatCompletion:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):  # the client's own bound restarts with every byte
                answer = await self._client.get().chat.completions.create(**_as_sent(arguments))
        except json.JSONDecodeError as error:
            raise Unusable("the answer is cut off") from error
        if isinstance(answer, str):  # what the client hands out when the content is not JSON
            raise ModelRefused(f"{self._endpoint.base_url} answered with a page, not JSON: check {self._endpoint.ends}")
        if not isinstance(answer, ChatCompletion):
            raise Unusable("the answer is no JSON object")
        if not answer.choices:
            raise Unusable(str((answer.model_extra or {}).get("error") or "the answer holds no choices"))
        return answer

    def _arguments(self, request: ChatRequest, without: set[str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._names[request.role],
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        }
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": request.answer_schema}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.token_details:
            arguments["logprobs"] = True
            arguments["return_token_ids"] = True  # vLLM's name; others leave it out or refuse it
        for part in without & set(arguments):
            value = arguments.pop(part)
            if part == "max_tokens":
                arguments["max_completion_tokens"] = value  # its name at endpoints that no longer take the old one
        return arguments

    def _completion(self, request: ChatRequest, answer: ChatCompletion, seconds: float) -> Completion:
        choice, usage = answer.choices[0], answer.usage
        text = (choice.message.content if choice.message else None) or ""
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair could not be kept
        said = sum(len(message.content) for message in request.messages)
        return Completion(
            text=text,
            model=self._names[request.role],
            prompt_tokens=usage.prompt_tokens if usage else max(1, said // 4),  # 4 characters a token, roughly
            completion_tokens=usage.completion_tokens if usage else max(1, len(text) // 4),
            finish_reason=choice.finish_reason or "stop",
            seconds=seconds,
            estimated=usage is None,
            reported_usd=charged(usage),
            **(_token_details(answer) if request.token_details else {}),
        )

    def _connect(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key or "none",  # servers without keys still want the header to be well-formed
            timeout=self._endpoint.timeout_s,
            max_retries=0,
            # The library's own client closes itself on whatever loop runs when it is collected; this one does not.
            http_client=openai.DefaultAsyncHttpxClient(),
        )


def charged(usage: BaseModel | None) -> float | None:
    """What the endpoint says that a call cost in US dollars: `cost` beside the token counts, as routers have it."""
    cost = (usage.model_extra or {}).get("cost") if usage is not None else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < inf else None


def _as_sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the client does not know by name travels in the body beside the rest."""
    foreign = {name: value for name, value in arguments.items() if name == "return_token_ids"}
    known = {name: value for name, value in arguments.items() if name not in foreign}
    return {**known, "extra_body": foreign} if foreign else known


def _token_details(answer: ChatCompletion) -> dict[str, tuple[Any, ...]]:
    """Token ids and logprobs as far as the endpoint sent them."""
    choice = answer.choices[0]
    known: dict[str, tuple[Any, ...]] = {}
    prompt, said = (answer.model_extra or {}).get("prompt_token_ids"), (choice.model_extra or {}).get("token_ids")
    for name, ids in (("prompt_token_ids", prompt), ("completion_token_ids", said)):
        if isinstance(ids, list) and all(isinstance(each, int) for each in ids):
            known[name] = tuple(ids)
    if choice.logprobs is not None and choice.logprobs.content:
        known["logprobs"] = tuple(token.logprob for token in choice.logprobs.content)
    return known


def _refused_part(error: openai.APIStatusError, arguments: Mapping[str, Any]) -> str | None:
    """Which optional argument an error is about: the one it names, else, for a 400, the answer schema."""
    named = [part for part in named_parts(error) if part in arguments]
    if named:
        return named[0]
    return "response_format" if error.status_code == 400 and "response_format" in arguments else None
