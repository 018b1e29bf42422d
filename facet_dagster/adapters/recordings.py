"""Writing recordings: the ledger rows of a store become files that recorded_model.py replays."""

from collections.abc import Collection
from pathlib import Path

from facet_dagster.adapters.store_files import file_name
from facet_dagster.ports import Store
from facet_dagster.records.call import CallId, LedgerRow, Role
from facet_dagster.records.recording import RecordedCall


def export_recordings(store: Store, folder: Path, subjects: Collection[str] | None = None) -> int:
    """Write one `<subject>.jsonl` per subject (all, or those named), sorted by identity; how many calls.

    The same store gives the same bytes. Where a call was made more than once (its prompt has changed
    in between), the latest answer counts.
    """
    latest: dict[str, dict[CallId, LedgerRow]] = {}
    for row in store.rows(LedgerRow):
        if row.role is Role.EMBEDDER:
            continue  # its answers are vectors, and no recorded model is asked for them
        calls = latest.setdefault(row.subject, {})
        known = calls.get(row.call)
        if (subjects is None or row.subject in subjects) and (known is None or known.at <= row.at):
            calls[row.call] = row
    folder.mkdir(parents=True, exist_ok=True)
    for subject, calls in latest.items():
        if calls:
            lines = [_recorded(calls[call]).model_dump_json() + "\n" for call in sorted(calls, key=_order)]
            (folder / f"{file_name(subject)}.jsonl").write_text("".join(lines), encoding="utf-8")
    return sum(len(calls) for calls in latest.values())


def _order(call: CallId) -> tuple[str, int, int, int]:
    return (call.station, call.round, call.attempt, call.turn)


def _recorded(row: LedgerRow) -> RecordedCall:
    return RecordedCall(
        call=row.call,
        role=row.role,
        model=row.completion.model,
        prompt_hash=row.prompt_hash,
        opening_hash=row.opening_hash,
        text=row.completion.text,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        finish_reason=row.completion.finish_reason,
    )
