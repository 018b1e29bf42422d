"""What waits to be done on seeds, as the store tells it: seeds without an end, ends that another try can change, tasks
without attempts.

Read with DuckDB from the columns alone: eight thousand seeds take about a second. Whether somebody is at work on a seed
right now is not known here.
"""

from dataclasses import dataclass
from typing import Any

from facet_dagster.errors import FacetError, trouble_named
from facet_dagster.records.bundle import Status
from facet_dagster.records.outcome import Reason
from facet_dagster.yields.views import run_sql

# arg_max passes over empty values, so that a reason of an earlier end would be taken for one of the last.
_ENDINGS = """
WITH last AS (
    SELECT seed, arg_max(status, "at") AS status, arg_max(coalesce(reason, ''), "at") AS reason,
        arg_max(rounds, "at") AS rounds, max("at") AS ended,
        -- Without the mark, which earlier versions did not put: trouble names no component.
        arg_max(coalesce(by_hand, false) OR status = 'pending' AND (component IS NOT NULL OR evidence = 'made by hand'),
            "at") AS by_hand,
        arg_max(split_part(evidence, ':', 1), "at") AS trouble  -- of a pending one: the name of its class
    FROM outcomes
    GROUP BY seed
)
SELECT * FROM last ORDER BY ended, seed
"""
# As attempts.py counts them. What earlier versions wrote does not say a task's bundle in its columns: any counts then.
_TRIED = """
WITH task AS (
    SELECT seed, arg_max(coalesce(bundle, ''), sequence) AS bundle FROM components WHERE kind = 'task' GROUP BY seed
)
SELECT trials.seed, model, engine, list(DISTINCT attempt) AS attempts
FROM trials JOIN task ON trials.seed = task.seed AND task.bundle IN ('', trials.bundle)
WHERE reward IS NOT NULL
GROUP BY ALL
"""


@dataclass(frozen=True)
class Ending:
    """How the last walk over a seed ended."""

    seed: str
    status: Status
    reason: Reason | None
    rounds: int
    by_hand: bool
    trouble: str

    def can_go_on(self, task_repairs: int) -> bool:
        """Whether another walk may end otherwise: it met trouble, or there are more rounds now than it could use.

        What a person began by hand, and trouble that lasts, are for people to go on with.
        """
        if self.status is Status.PENDING:
            return not (self.by_hand or trouble_named(self.trouble, FacetError).lasting)
        return self.reason is Reason.REPAIRS_EXHAUSTED and self.rounds < task_repairs


def endings(store_root: str) -> dict[str, Ending]:
    """The last end of every seed that has one, the oldest first. Raises InfrastructureError, SettingsError."""
    rows: list[dict[str, Any]] = run_sql(store_root, _ENDINGS).to_dict("records")  # type: ignore[assignment]  # columns have names
    return {
        row["seed"]: Ending(
            seed=row["seed"],
            status=Status(row["status"]),
            reason=Reason(row["reason"]) if row["reason"] else None,
            rounds=int(row["rounds"]),
            by_hand=bool(row["by_hand"]),
            trouble=row["trouble"],
        )
        for row in rows
    }


def graded_attempts(store_root: str, teacher: str, engine: str) -> dict[str, frozenset[int]]:
    """Which attempts of a teacher by an engine on the seeds' last tasks are graded. Raises as `endings` does."""
    rows: list[dict[str, Any]] = run_sql(store_root, _TRIED).to_dict("records")  # type: ignore[assignment]  # columns have names
    mine = [row for row in rows if (row["model"], row["engine"]) == (teacher, engine)]
    return {row["seed"]: frozenset(int(attempt) for attempt in row["attempts"]) for row in mine}
