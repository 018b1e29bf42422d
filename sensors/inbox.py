"""Watches the inbox folder and asks for a reading of the skills when what lies there has changed and come to rest."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import dagster as dg

from facet_dagster.settings import Settings

MAX_TIMES = 3
"""How often one state of the folder is asked for while its readings fail."""
_TAG = "facet/inbox"  # of a run: the state of the folder that it was asked to read


@dg.sensor(
    job_name="read_skills",
    description="Asks for a reading of the skills when the contents of the inbox have changed.",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
)
def skill_inbox(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """Asks once per state of the folder; one that changed since the last look may still be in the middle of a copy.

    A reading that failed is asked for again, a few times.
    """
    if settings.inbox is None:
        return dg.SkipReason("no inbox is set: FACET_INBOX")
    if not settings.inbox.is_dir():
        return dg.SkipReason(f"the inbox {settings.inbox} is not a folder")
    before = json.loads(context.cursor) if context.cursor else {}
    state = _state(settings.inbox)
    if state == before.get("asked"):
        return _again(context, before)
    if state != before.get("seen"):
        context.update_cursor(json.dumps({**before, "seen": state}))
        return dg.SkipReason("the inbox has changed; it is read when it has come to rest")
    return _ask({"seen": state, "asked": state, "times": 1})


def _ask(cursor: dict[str, Any]) -> dg.SensorResult:
    # No run key: Dagster starts no second run of one, ever, but a state may come back. The cursor guards.
    request = dg.RunRequest(tags={_TAG: cursor["asked"]})
    return dg.SensorResult(run_requests=[request], cursor=json.dumps(cursor))


def _again(context: dg.SensorEvaluationContext, before: dict[str, Any]) -> dg.SensorResult | dg.SkipReason:
    times = before.get("times", 1)
    newest = context.instance.get_runs(dg.RunsFilter(tags={_TAG: before["asked"]}), limit=1)
    if not newest or newest[0].status is not dg.DagsterRunStatus.FAILURE:
        return dg.SkipReason("nothing has changed since the last reading")
    if times >= MAX_TIMES:
        return dg.SkipReason(f"reading the inbox failed {times} times: read it by hand, or change what lies there")
    return _ask({**before, "times": times + 1})


def _state(inbox: Path) -> str:
    """Of names, sizes and times: nothing is opened."""
    state = hashlib.sha256()
    for folder, folders, files in os.walk(inbox):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            try:
                about = path.lstat()
            except OSError:  # gone between listing and looking, or closed
                continue
            state.update(os.fsencode(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0"))
    return state.hexdigest()
