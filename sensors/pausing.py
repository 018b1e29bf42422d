"""Whether a sensor should ask for less for a while: its last runs all failed of the same trouble.

A wrong key or an engine that is away would fail every walk. An hour after the last of these runs a single one is asked
for; when that ends otherwise, all goes on.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.trouble import trouble_of
from sensors.asking import ASKED_BY

ALIKE = 3
"""So many runs in a row must have failed of the same."""
PAUSE = timedelta(hours=1)
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@dataclass(frozen=True)
class Pause:
    """The trouble that the last runs shared, and until when nothing is asked for; after that, one run at a time."""

    trouble: str
    until: datetime

    @property
    def over(self) -> bool:
        """Whether one run may be tried."""
        return datetime.now(UTC) >= self.until

    @property
    def reason(self) -> str:
        """Why nothing is asked for."""
        return (
            f"the last {ALIKE} runs all failed of {self.trouble} (docs/failures.md says what to do): "
            f"one is tried at {self.until:%H:%M} UTC"
        )


def pause_of(instance: dg.DagsterInstance, asked_by: str) -> Pause | None:
    """The pause of a sensor; none where its last runs do not all tell the same."""
    mine = dg.RunsFilter(tags={ASKED_BY: asked_by}, statuses=_ENDED)
    last = instance.get_run_records(mine, limit=ALIKE)
    if len(last) < ALIKE or any(each.dagster_run.status is not dg.DagsterRunStatus.FAILURE for each in last):
        return None
    troubles = {trouble_of(each.dagster_run.run_id, instance) for each in last}
    if len(troubles) > 1 or "" in troubles:
        return None
    ended = datetime.fromtimestamp(max(each.end_time or 0.0 for each in last), UTC)
    return Pause(troubles.pop(), ended + PAUSE)
