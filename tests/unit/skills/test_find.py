"""Finding skill folders: links that lead nowhere good refuse one skill and leave the others."""

from pathlib import Path

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
