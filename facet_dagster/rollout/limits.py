"""Terms of one trial: its bounds and its protocol. What a container may use: records/container.py."""

from pydantic import Field

from facet_dagster.records.base import Record
from facet_dagster.records.terms import Replies

LONGEST_WAIT_S = 60.0  # no command waits longer, whatever it asks for


class TrialLimits(Record):
    """When a trial ends by itself: model turns, wall-clock seconds, tokens (sent and received), US dollars.

    `wait_cap_s` bounds, in seconds, how long one command may ask the terminal to wait. `context_tokens` is what the
    model can see at once; with less than `handover_tokens` of it left, the dialogue is handed over to a new context.
    """

    turns: int = Field(default=40, ge=1)
    seconds: float = Field(default=900.0, gt=0)
    tokens: int = Field(default=400_000, ge=1)
    usd: float | None = Field(default=None, gt=0)
    wait_cap_s: float = Field(default=20.0, ge=0, le=LONGEST_WAIT_S)
    replies: Replies = "json"
    context_tokens: int = Field(default=128_000, ge=1)
    handover_tokens: int = Field(default=8_000, ge=0)
    token_details: bool = False
