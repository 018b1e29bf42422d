"""What several commands are tried on."""

from pathlib import Path

import pytest


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder whose only task is wrong in form, which needs no container."""
    folder = tmp_path / "tasks" / "one"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('[task]\nname = "org/one"\n')
    return folder.parent
