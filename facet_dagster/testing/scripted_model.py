"""A chat model whose answers come from a script: for tests of everything that asks, never for the product."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from facet_dagster.errors import NoRecording
from facet_dagster.records.call import ChatRequest, Completion

Answer = str | dict[str, Any] | BaseException


class ScriptedModel:
    """Answers by station (`scenario.analysis`): the next of a list, or what a function returns.

    Dictionaries are sent as JSON, exceptions are raised. Every request is kept in `requests`.
    """

    def __init__(self, script: Mapping[str, Iterable[Answer] | Callable[[ChatRequest], Answer]]) -> None:
        self._script = {
            station: answers if callable(answers) else iter(list(answers)) for station, answers in script.items()
        }
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        """Raises NoRecording when the script has no (further) answer for the station."""
        self.requests.append(request)
        source = self._script.get(request.call.station)
        answer = source(request) if callable(source) else next(source, None) if source is not None else None
        if answer is None:
            raise NoRecording(f"the script has no answer for {request.call.label()}")
        if isinstance(answer, BaseException):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        prompt_tokens = sum(len(message.content) for message in request.messages) // 4
        return Completion(
            text=text, model="scripted", prompt_tokens=prompt_tokens, completion_tokens=max(1, len(text) // 4)
        )
