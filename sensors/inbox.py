"""Watches the inbox folder and asks for a reading of the skills when what lies there has changed and come to rest."""

import hashlib
import json
import os
from pathlib import Path

import dagster as dg

from facet_dagster.settings import Settings


@dg.sensor(
    job_name="read_skills",
    description="Asks for a reading of the skills when the contents of the inbox have changed.",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
)
def skill_inbox(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """Asks once per state of the folder; one that changed since the last look may still be in the middle of a copy."""
    if settings.inbox is None:
        return dg.SkipReason("no inbox is set: FACET_INBOX")
    if not settings.inbox.is_dir():
        return dg.SkipReason(f"the inbox {settings.inbox} is not a folder")
    before = json.loads(context.cursor) if context.cursor else {}
    state = _state(settings.inbox)
    if state == before.get("asked"):
        return dg.SkipReason("nothing has changed since the last reading")
    if state != before.get("seen"):
        context.update_cursor(json.dumps({**before, "seen": state}))
        return dg.SkipReason("the inbox has changed; it is read when it has come to rest")
    cursor = json.dumps({"seen": state, "asked": state})
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=state)], cursor=cursor)


def _state(inbox: Path) -> str:
    """Of names, sizes and times: nothing is opened."""
    state = hashlib.sha256()
    for folder, folders, files in os.walk(inbox):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            try:
                about = path.lstat()
            except FileNotFoundError:  # gone between listing and looking
                continue
            state.update(os.fsencode(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0"))
    return state.hexdigest()
