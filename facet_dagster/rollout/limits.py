"""Bounds on one trial. What a container may use is bounded elsewhere (records/container.py)."""

from pydantic import Field

from facet_dagster.records.base import Record

LONGEST_WAIT_S = 60.0  # no command waits longer, whatever it asks for


class TrialLimits(Record):
    """When a trial ends by itself: model turns, wall-clock seconds, and tokens (sent and received) over all turns.

    `wait_cap_s` bounds, in seconds, how long one command may ask the terminal to wait.
    """

    turns: int = Field(default=40, ge=1)
    seconds: float = Field(default=900.0, gt=0)
    tokens: int = Field(default=400_000, ge=1)
    wait_cap_s: float = Field(default=20.0, ge=0, le=LONGEST_WAIT_S)
