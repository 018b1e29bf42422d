"""Folders appear whole, are replaced whole, and hold nothing from outside."""

import pytest

from facet_dagster.datasets.folder import content_hash, replace_folder, write_whole
from facet_dagster.records.container import FileEntry

FILES = [FileEntry(path="a/b.txt", content="x"), FileEntry(path="run.sh", content="y", mode=0o755)]


def test_the_same_again_touches_nothing(tmp_path):
    replace_folder(tmp_path / "t", FILES)
    before = (tmp_path / "t/a/b.txt").stat().st_mtime_ns, (tmp_path / "t").stat().st_ino
    replace_folder(tmp_path / "t", FILES)
    assert ((tmp_path / "t/a/b.txt").stat().st_mtime_ns, (tmp_path / "t").stat().st_ino) == before
    assert (tmp_path / "t/run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("damage", ["extra", "changed", "mode", "missing", "link"])
def test_what_differs_is_replaced(tmp_path, damage):
    target = tmp_path / "t"
    replace_folder(target, FILES)
    file = target / "a/b.txt"
    match damage:
        case "extra":
            (target / "more").write_text("")
        case "changed":
            file.write_text("z")
        case "mode":
            file.chmod(0o600)
        case "missing":
            file.unlink()
        case "link":
            file.unlink()
            file.symlink_to(tmp_path / "elsewhere")
            (tmp_path / "elsewhere").write_text("x")
    replace_folder(target, FILES)
    assert sorted(p.name for p in target.rglob("*")) == ["a", "b.txt", "run.sh"]
    assert file.read_text() == "x" and not file.is_symlink() and file.stat().st_mode & 0o777 == 0o644


def test_what_an_interrupted_export_left_is_removed(tmp_path):
    (tmp_path / ".t.partial").mkdir()
    (tmp_path / ".t.partial/task.toml").write_text("half")
    replace_folder(tmp_path / "t", FILES)
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ""])
def test_a_path_outside_is_refused(tmp_path, path):
    with pytest.raises(ValueError, match="leaves the folder"):
        replace_folder(tmp_path / "t", [FileEntry(path=path, content="")])
    assert list(tmp_path.iterdir()) == []


def test_a_file_given_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="twice"):
        replace_folder(tmp_path / "t", [*FILES, FileEntry(path="a//b.txt", content="other")])


def test_the_hash_sees_content_path_and_mode_but_not_the_order():
    again = [*FILES[::-1]]
    assert content_hash(again) == content_hash(FILES)
    others = [FILES[0].model_copy(update=change) for change in ({"content": "y"}, {"path": "a/c"}, {"mode": 0o755})]
    assert len({content_hash([other, FILES[1]]) for other in others} | {content_hash(FILES)}) == 4


def test_a_single_file_is_written_whole(tmp_path):
    write_whole(tmp_path / "new/x.txt", b"1")
    write_whole(tmp_path / "new/x.txt", b"2")
    assert (tmp_path / "new/x.txt").read_bytes() == b"2"
    assert len(list((tmp_path / "new").iterdir())) == 1
