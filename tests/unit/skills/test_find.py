"""Finding skill folders: links that lead nowhere good refuse one skill and leave the others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.sources.folder import FolderSource

GOOD = """---
name: count-lines
description: Count the lines of text files with wc and report the longest one for a folder.
---

# Count lines

Run `wc -l *.txt` in the folder, then `sort -n` on the result, and write the last line to `longest.txt`.

```bash
wc -l *.txt | sort -n | tail -2 > longest.txt
```
"""


def test_links_that_lead_to_themselves_refuse_one_skill_only(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "SKILL.md").write_text(GOOD)
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "SKILL.md").symlink_to("SKILL.md")
    (tmp_path / "folder").symlink_to("folder")
    entries = {entry.path: entry for entry in FolderSource(tmp_path).entries()}
    assert entries["good"].data == GOOD.encode()
    assert {path: entry.refusal and entry.refusal.fault for path, entry in entries.items()} == {
        "good": None,
        "loop": SkillFault.UNREADABLE,
    }


def test_what_may_not_be_looked_at_refuses_one_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run as root, whom no mode keeps out.
    for name in ("good", "shut"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(GOOD)
    (tmp_path / "barred").mkdir()
    (tmp_path / "into").symlink_to("shut")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "SKILL.md").symlink_to("../shut/SKILL.md")
    is_dir, iterdir, exists = Path.is_dir, Path.iterdir, Path.exists

    def looking(path: Path) -> bool:
        if path.name == "barred":
            raise PermissionError(13, "Permission denied")
        return is_dir(path)

    def listing(path: Path) -> Iterator[Path]:
        if path.name == "shut":
            raise PermissionError(13, "Permission denied")
        return iterdir(path)

    def existing(path: Path) -> bool:
        if path.parent.name == "shut":
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "is_dir", looking)
    monkeypatch.setattr(Path, "iterdir", listing)
    monkeypatch.setattr(Path, "exists", existing)
    entries = {entry.path: entry for entry in FolderSource(tmp_path).entries()}
    refused = {path: entry.refusal.evidence for path, entry in entries.items() if entry.refusal}
    assert set(entries) == {"good", "shut", "barred", "into", "linked"}
    assert set(refused) == {"shut", "barred", "into", "linked"}
    assert all("Permission denied" in evidence for evidence in refused.values())
