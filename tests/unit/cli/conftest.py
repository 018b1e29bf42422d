"""What several commands are tried on."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder whose only task is wrong in form, which needs no container."""
    folder = tmp_path / "tasks" / "one"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('[task]\nname = "org/one"\n')
    return folder.parent


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as it is in the foreground: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
