"""How long to wait before a model is asked again: exponential with jitter, or as long as the endpoint says."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai
from tenacity import RetryCallState, wait_exponential_jitter

LONGEST_WAIT_S = 60.0

_BACKOFF = wait_exponential_jitter(initial=1.0, max=LONGEST_WAIT_S, jitter=1.0)


def wait_before_retry(state: RetryCallState) -> float:
    """Seconds to wait: the backoff, or Retry-After where that is longer; never over LONGEST_WAIT_S."""
    error = state.outcome.exception() if state.outcome else None
    return min(LONGEST_WAIT_S, max(_BACKOFF(state), _asked_for(error)))


def _asked_for(error: BaseException | None) -> float:
    """What the Retry-After header asks for, in seconds; it holds seconds or a date."""
    value = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
