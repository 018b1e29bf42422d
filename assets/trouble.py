"""What a failed run failed of: the one kind of trouble that kept all its work from being done, if it was one.

A kind is the name of an exception (facet_dagster/errors.py). Runs that fail because single seeds did have none.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from facet_dagster import errors

_KEY = "trouble"
_FAILURES = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}


def shared(kinds: Sequence[str], seeds: int) -> dict[str, str]:
    """Metadata of a failure on purpose: the trouble, where all `seeds` of a run met the same."""
    return {_KEY: kinds[0]} if len(kinds) == seeds and len(set(kinds)) == 1 else {}


def trouble_of(run_id: str, instance: dg.DagsterInstance) -> str:
    """The kind of trouble of a run that has failed; empty where it was not one."""
    records = instance.get_records_for_run(run_id, of_type=_FAILURES).records
    events = [record.event_log_entry.dagster_event for record in records]
    steps = [event.step_failure_data for event in events if event and event.is_step_failure]
    if steps and steps[0].user_failure_data is not None:
        said = steps[0].user_failure_data.metadata.get(_KEY)
        return str(said.value) if said else ""
    ends = [event.job_failure_data for event in events if event and event.is_job_failure]
    found = [*(step.error for step in steps), *(end.error for end in ends)]
    error = root_of(next((each for each in found if each), None))
    return str(getattr(error, "cls_name", None) or "")


def root_of(error: Any) -> Any:
    """The first of our own errors on the way to the root (it says what to do), else the root itself."""
    while getattr(error, "cause", None) is not None and not hasattr(errors, str(getattr(error, "cls_name", ""))):
        error = error.cause
    return error
