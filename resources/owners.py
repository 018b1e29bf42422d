"""Whose process a run is, and the end of runs whose process is gone.

A run that is killed (kill -9, out of memory, a reboot) cannot say so: Dagster would show it as running, count it in its
queue and take its seeds for work under way, for ever.
"""

import os
from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster._core.storage.event_log import SqliteEventLogStorage

from facet_dagster.adapters.docker_labels import is_dead, is_of_earlier_boot, owner_of

OWNER = "facet/owner"  # tag of a run: its process, as the label of a container says it
SLOW_START = timedelta(minutes=30)
"""After which a run that has no owner yet never got as far as to name one."""
_BEGUN = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def owner() -> dict[str, str]:
    """The tag of a run of this process."""
    return {OWNER: owner_of(os.getpid())}


def own(instance: dg.DagsterInstance | None, run_id: str | None) -> None:
    """Tag a run that this process has begun to work on; outside of a run nothing is done."""
    if instance is not None and run_id is not None:
        instance.add_run_tags(run_id, owner())


def end_lost_runs(instance: dg.DagsterInstance) -> int:
    """Report runs of this host whose process is gone as failed (or cancelled); how many those were.

    What cannot be known counts as alive: runs of other hosts and of other containers.
    """
    # SQLite is files of one machine, so that another boot is an earlier one. On Postgres it may be another machine.
    one_machine = isinstance(instance.event_log_storage, SqliteEventLogStorage)
    begun = instance.get_run_records(dg.RunsFilter(statuses=_BEGUN))
    return sum(_end(instance, record.dagster_run.run_id) for record in begun if _is_lost(record, one_machine))


def _is_lost(record: dg.RunRecord, one_machine: bool) -> bool:
    run = record.dagster_run
    named = run.tags.get(OWNER)
    if named is not None:
        return is_dead(named) or (one_machine and is_of_earlier_boot(named))
    is_late = record.update_timestamp < datetime.now(UTC) - SLOW_START
    return one_machine and run.status is dg.DagsterRunStatus.STARTING and is_late


def _end(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Looks again: a process may have ended its run, and itself, since the runs were listed."""
    run = instance.get_run_by_id(run_id)
    if run is None or run.status not in _BEGUN:
        return False
    said = "The process of this run is gone: it was killed, or the machine went down."
    if run.status is dg.DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run, said)
    else:
        instance.report_run_failed(run, said)
    return True
