"""Old run logs: removed, while what the catalogue shows stays as it is.

Dagster knows no retention of event logs, and deletes a run only together with its asset events, after which cells lose
their colours. So a run that planned or made a cell keeps its record and its asset events and loses the rest of its log;
a run without (housekeeping) is deleted.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import sqlalchemy as db
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from pydantic import Field

from assets.priorities import UPKEEP, priority
from resources.owners import own

PAGE = 500  # runs that are listed together
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_COLUMNS = SqlEventLogStorageTable.c


class Keep(dg.Config):
    """How long logs are kept whole."""

    days: int = Field(default=14, ge=1)


@dg.op(description="Delete old runs that made nothing, and thin the logs of those that did.")
def prune(context: dg.OpExecutionContext, config: Keep) -> None:
    """Runs that have ended within the last `days` are left alone."""
    own(context.instance, context.run_id)
    deleted, thinned = prune_runs(context.instance, datetime.now(UTC) - timedelta(days=config.days))
    context.log.info(f"{deleted} runs deleted, the logs of {thinned} thinned")


@dg.job(
    description="Remove old run logs; materialisations and observations are kept.",
    tags=priority(UPKEEP),
    executor_def=dg.in_process_executor,
)
def prune_run_logs() -> None:
    """One step."""
    prune()


def prune_runs(instance: dg.DagsterInstance, before: datetime) -> tuple[int, int]:
    """How many runs that ended before a moment were deleted, and of how many the log was thinned."""
    deleted = thinned = 0
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        raise dg.Failure("run logs can be pruned in SQLite and Postgres only", allow_retries=False)
    for run_id in list(_ended(instance, before)):
        if _made_cells(storage, run_id):
            thinned += _thin(storage, run_id)
        else:
            instance.delete_run(run_id)
            deleted += 1
    return deleted, thinned


def _ended(instance: dg.DagsterInstance, before: datetime) -> Iterator[str]:
    cursor: str | None = None
    filters = dg.RunsFilter(statuses=_FINISHED, updated_before=before)
    while page := instance.get_runs(filters, cursor=cursor, limit=PAGE):
        yield from (run.run_id for run in page)
        cursor = page[-1].run_id


def _made_cells(storage: SqlEventLogStorage, run_id: str) -> bool:
    """Told by the index, which is kept: a log that was thinned earlier tells nothing."""
    asked = db.select(_COLUMNS.id).where(_COLUMNS.run_id == run_id, _COLUMNS.asset_key.is_not(None)).limit(1)
    with storage.index_connection() as connection:
        return connection.execute(asked).first() is not None


def _thin(storage: SqlEventLogStorage, run_id: str) -> bool:
    """Whether there was anything to remove."""
    if isinstance(storage, SqliteEventLogStorage):
        return _empty(Path(storage.path_for_shard(run_id)))  # asset events stand in the index as well
    rest = db.delete(SqlEventLogStorageTable).where(_COLUMNS.run_id == run_id, _COLUMNS.asset_key.is_(None))
    with storage.run_connection(run_id) as connection:
        return bool(connection.execute(rest).rowcount)


def _empty(log: Path) -> bool:
    """Whether the log of a run had entries. The file stays: a webserver that has shown it expects its tables."""
    if not log.exists():
        return False
    with closing(sqlite3.connect(log, timeout=60)) as connection:
        gone = connection.execute("DELETE FROM event_logs").rowcount
        connection.commit()
        if gone:
            connection.execute("VACUUM")
    return gone > 0
