"""What a cell was made from, in the words in which Dagster tells an up-to-date cell from one that is out of date.

Events made by hand bypass Dagster's own provenance. Beside the version of each input it wants a pointer: the place in
the event log up to which the input counts. Without it every cell would be shown as out of date, always.
"""

from collections.abc import Generator, Mapping
from typing import TypeVar

import dagster as dg

from assets.streaming import Event

T = TypeVar("T")
_VERSION, _POINTER, _NONE = "dagster/input_data_version/", "dagster/input_event_pointer/", "NULL"


def versions(code: str, data: str, inputs: Mapping[str, str | None]) -> dict[str, str]:
    """Tags of a materialisation: version of the code, of what was made, and of each input (None: it was not used)."""
    tags = {"dagster/code_version": code, "dagster/data_version": data[:32]}
    return tags | {f"{_VERSION}{name}": digest[:32] if digest else _NONE for name, digest in inputs.items()}


def pointed(events: Generator[Event, None, T], instance: dg.DagsterInstance) -> Generator[Event, None, T]:
    """The events, each with pointers to its inputs added when its turn has come: those before it are in the log then.

    The value is that of `events`, which are closed with this.
    """
    try:
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                value: T = end.value
                return value
            yield _pointed(event, instance) if isinstance(event, dg.AssetMaterialization) else event
    finally:
        events.close()


def _pointed(event: dg.AssetMaterialization, instance: dg.DagsterInstance) -> dg.AssetMaterialization:
    tags = event.tags or {}
    used = [name.removeprefix(_VERSION) for name in tags if name.startswith(_VERSION)]
    if not used:
        return event
    here = str(instance.event_log_storage.get_maximum_record_id() or _NONE)
    pointers = {f"{_POINTER}{name}": _NONE if tags[f"{_VERSION}{name}"] == _NONE else here for name in used}
    return event._replace(tags={**tags, **pointers})
