"""Recorded calls: the answers of a real model, kept as lines of text and replayed by identity."""

from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId, Role


class RecordedCall(Record):
    """One answer as it came. The hashes tell whether the prompt has changed since it was recorded."""

    call: CallId
    role: Role
    model: str
    prompt_hash: str
    opening_hash: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    note: str = "recorded answer of a real model; replayed, not asked again"
