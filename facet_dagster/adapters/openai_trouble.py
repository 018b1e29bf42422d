"""Trouble with OpenAI-compatible endpoints: what may pass and is tried again, and what is said of the rest.

Belongs here: what chat and embeddings share. Does not belong here: any request or answer.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import openai
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from facet_dagster.adapters.retry_waits import wait_before_retry
from facet_dagster.errors import ContextOverflow, ModelRefused, ModelUnavailable, TextRefused

OPTIONAL = (
    "response_format",
    "max_tokens",
    "temperature",
    "return_token_ids",
    "logprobs",
)  # what a request can do without

_SECRET = 8  # characters; what is shorter may be a word
_TRY_AGAIN = {408, 409, 425, 429}
_OF_THE_TEXT = {400, 413, 422, 451}  # may be about what was sent; others are about key, name and address
_OVERFLOW = "context_length_exceeded"
_OVERFLOWN = re.compile(r"(?i)context (length|window|size)|prompt is too long")

Answer = TypeVar("Answer")


class Unusable(Exception):
    """The endpoint said 200 and sent something that is no answer (an overloaded proxy does that).

    Holds the text as it came, key and all; `Endpoint.trouble` says what may be said of it.
    """


FAULTS = (openai.APIStatusError, openai.APIConnectionError, TimeoutError, Unusable)  # what `Endpoint.trouble` explains


@dataclass(frozen=True)
class Endpoint:
    """Where is asked and how patiently. `variables` begins the names of its settings, for example FACET_LLM.

    `timeout_s` bounds one try, `retries` the tries after the first.
    """

    base_url: str
    variables: str
    api_key: str = field(repr=False)
    timeout_s: float
    retries: int
    sleep: Callable[[float], Awaitable[None]]

    @property
    def ends(self) -> str:
        """What to check where the address leads to something else."""
        return f"{self.variables}_BASE_URL (it usually ends in /v1)"

    async def persistently(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask until there is an answer, it cannot help, or the retries are used up; raises what was raised last.

        `ask` is a coroutine function, bound by `partial` where it takes arguments.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.retries + 1),
            wait=wait_before_retry,
            retry=retry_if_exception(may_pass),
            sleep=self.sleep,
            reraise=True,
        )
        answer: Answer = await retrying(ask)
        return answer

    def trouble(self, error: Exception, model: str, wanted: str) -> ModelRefused | ModelUnavailable:
        """One of FAULTS as our own error, which says what to do; `wanted` is what should have been sent.

        To be raised `from None`: Dagster keeps a cause with its text, which may hold the key.
        """
        if isinstance(error, openai.APIStatusError):
            return self._status(error, model)
        if isinstance(error, Unusable):
            return ModelUnavailable(f"{self.base_url} sent no {wanted}{self._tries()}: {self._quoted(str(error))}")
        slow = isinstance(error, openai.APITimeoutError | TimeoutError)
        what = f"did not answer within {self.timeout_s:g} s" if slow else "cannot be reached"
        return ModelUnavailable(f"{self.base_url} {what}{self._tries()}: check {self.variables}_BASE_URL")

    def _status(self, error: openai.APIStatusError, model: str) -> ModelRefused | ModelUnavailable:
        said = f"{self.base_url} answered {error.status_code} for model {model!r}"
        if error.status_code in (400, 413) and (error.code == _OVERFLOW or _OVERFLOWN.search(error.message)):
            return ContextOverflow(f"{said}: {self._quoted(error.message)}")
        if may_pass(error):
            return ModelUnavailable(f"{said}{self._tries()}: {self._quoted(error.message)}")
        otherwise = "check the model name and what this model supports"
        check = {
            401: f"check {self.variables}_API_KEY",
            403: f"check that {self.variables}_API_KEY may use this model",
            404: f"check the model name and {self.ends}",
        }.get(error.status_code, otherwise)
        refusal = TextRefused if error.status_code in _OF_THE_TEXT else ModelRefused
        return refusal(f"{said}: {check}; it said: {self._quoted(error.message)}")

    def _quoted(self, text: str) -> str:
        """What the endpoint said, for a message that is kept and shown; some say the key that they were sent."""
        return _one_line(text.replace(self.api_key, "[key]") if len(self.api_key) >= _SECRET else text)

    def _tries(self) -> str:
        return f" in {self.retries + 1} tries" if self.retries else ""


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in _TRY_AGAIN or (error.status_code >= 500 and not named_parts(error))
    return isinstance(error, openai.APIConnectionError | TimeoutError | Unusable)


def named_parts(error: openai.APIStatusError) -> list[str]:
    """Optional arguments that the error speaks of. Some servers report a part they do not know as a 500."""
    return [part for part in OPTIONAL if part in (error.param or "") or part in error.message]


def _one_line(text: str) -> str:
    """What somebody said, short enough for a message."""
    return " ".join(text.split())[:300]
