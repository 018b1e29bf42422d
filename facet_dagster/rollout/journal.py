"""A trial on its way, kept turn by turn: one file of JSON lines per trial, which outlives the process that writes it.

The first line is the trial without turns, each further one a turn or a hand-over, on disk before the next model call.
The writing process holds a lock on the file, so that a file without a lock is a trial that was cut.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.rollout import Handover, StopReason, Trial, Turn


class Journal:
    """The file of one trial, open for writing. Raises InfrastructureError when the disk does not take a line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.empty = True  # nothing was done yet

    def add(self, done: Turn | Handover) -> None:
        """Write a line; durable when this returns. Blocks for as long as the disk takes."""
        kind = "turn" if isinstance(done, Turn) else "handover"
        _append(self._file, json.dumps({kind: done.model_dump(mode="json")}, ensure_ascii=False))
        self.empty = False


@contextmanager
def journal(folder: Path, trial: Trial) -> Iterator[Journal]:
    """A journal of a trial that begins. `forget` it, once the trial is kept, before leaving the context.

    One in which nothing was done by then is forgotten without being kept. Raises InfrastructureError where the file
    cannot be written.
    """
    path = _path(folder, trial)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise _trouble(path, error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _append(file, trial.model_copy(update={"stop": StopReason.CUT}).model_dump_json())
        kept = Journal(file)
        try:
            yield kept
        finally:
            if kept.empty:
                path.unlink(missing_ok=True)


def forget(folder: Path, trial: Trial) -> None:
    """Remove the journal of a trial that is kept elsewhere."""
    _path(folder, trial).unlink(missing_ok=True)


def cut_trials(folder: Path, seed: str) -> Iterator[Trial]:
    """Trials of a seed whose process died, with what they had done; `forget` each once it is kept.

    A trial whose process lives is left alone. The last line of a file may be half a line: it is as if not written.
    """
    for path in sorted((folder / seed).glob("*.jsonl")):
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                trial = _read(file.read())
        except BlockingIOError:
            continue
        except OSError as error:
            raise _trouble(path, error) from error
        if trial is None or not (trial.turns or trial.handovers):  # died before anything was done
            path.unlink(missing_ok=True)
        else:
            yield trial


def _path(folder: Path, trial: Trial) -> Path:
    # By attempt and start: the key of a trial is known only when it has ended.
    return folder / trial.seed / f"{trial.attempt:03d}-{trial.started_at:%Y%m%dT%H%M%S%f}.jsonl"


def _append(file: IO[bytes], line: str) -> None:
    try:
        data = line.encode("utf-8", "replace") + b"\n"
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise _trouble(Path(str(file.name)), error) from error


def _read(data: bytes) -> Trial | None:
    whole = data.split(b"\n")[:-1]
    try:
        trial = Trial.model_validate_json(whole[0]) if whole else None
        turns, handovers = [], []
        for line in whole[1:]:
            entry = json.loads(line)
            if "turn" in entry:
                turns.append(Turn.model_validate(entry["turn"]))
            else:
                handovers.append(Handover.model_validate(entry["handover"]))
    except (ValidationError, ValueError, KeyError):  # of another version, or damaged: nothing can be said about it
        return None
    return trial and trial.model_copy(update={"turns": tuple(turns), "handovers": tuple(handovers)})


def _trouble(path: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(f"cannot keep {path}: {error.strerror or error}; is the disk full or read-only?")
