"""The inbox: a folder of sources, of which each that cannot be read is refused alone."""

from pathlib import Path

import pytest

from facet_dagster.errors import SettingsError
from facet_dagster.skills.sources.inbox import InboxSource
from tests.unit.skills.test_sources import as_folder, as_zip


def test_the_inbox_reads_what_it_can(tmp_path: Path) -> None:
    as_folder(tmp_path, {"a/SKILL.md": b"a"})
    as_zip(tmp_path, {"b/SKILL.md": b"b"})
    (tmp_path / "half.tar.gz").write_bytes(b"\x1f\x8b half")
    (tmp_path / ".hidden").write_bytes(b"")
    found = {(entry.source, entry.path): entry for entry in InboxSource(tmp_path).entries()}
    assert {address: entry.data for address, entry in found.items() if not entry.refusal} == {
        ("tree", "a"): b"a",
        ("tree.zip", "b"): b"b",
    }
    refusal = found["half.tar.gz", "."].refusal
    assert refusal is not None and "cannot be read as an archive" in refusal.evidence
    with pytest.raises(SettingsError, match="not a folder"):
        InboxSource(tmp_path / "nowhere")


def test_an_inbox_member_that_is_closed_is_refused_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_folder(tmp_path, {"a/SKILL.md": b"a"})
    (tmp_path / "closed").mkdir()
    exists = Path.exists

    def refusing(path: Path, **options: bool) -> bool:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return exists(path, **options)

    monkeypatch.setattr(Path, "exists", refusing)
    found = {(entry.source, entry.path): entry for entry in InboxSource(tmp_path).entries()}
    assert found["tree", "a"].refusal is None
    refusal = found["closed", "."].refusal
    assert refusal is not None and "Permission denied" in refusal.evidence


def test_a_dump_that_breaks_off_and_its_root_skill_have_two_addresses(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"path": "SKILL.md", "text": "x"}\nnot json')
    found = [(entry.path, entry.refusal is None) for entry in InboxSource(tmp_path).entries()]
    assert found == [(".", True), ("./", False)]
