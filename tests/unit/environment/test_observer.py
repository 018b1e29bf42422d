"""The observer program, run as it is run in a container, on trees with all that can lie in them."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.environment import observer
from facet_dagster.records.environment import ObservedFile, ObservedState


def entries(root: Path) -> dict[str, dict[str, Any]]:
    """Entries of a tree by their path below the root."""
    found, truncated = observer.walk([str(root)], set())
    assert not truncated
    return {str(Path(entry["path"]).relative_to(root)): entry for entry in found}


def sniffed(path: Path, content: str | bytes) -> str:
    """What is told of one file with this content."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(entries(path.parent)[path.name]["sniffed"])


def test_the_program_prints_an_observed_state(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    command = [sys.executable, "-m", "facet_dagster.environment.observer", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    state = ObservedState.model_validate_json(printed)
    file = state.file(str(tmp_path / "a.txt"))
    assert file is not None and file.sample == "one\ntwo" and file.size == 8
    assert "python3" in state.tools


def test_odd_entries_are_listed_and_stop_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("/nowhere")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "empty").touch()
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04" + b"\xff" * 100)
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 100)
    (tmp_path / "surrogate.json").write_text('{"\\ud800": 1}')
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))).write_text("name that is not UTF-8")
    found = entries(tmp_path)
    assert {name: entry["type"] for name, entry in found.items() if entry["type"] != "file"} == {
        "pipe": "other",
        "dangling": "link",
        "loop": "link",
    }
    assert found["dangling"]["target"] == "/nowhere"
    assert found["empty"]["sniffed"] == "empty"
    assert found["broken.db"]["sniffed"] == "SQLite database that cannot be read"
    assert found["broken.tar.gz"]["sniffed"] == "gzip data"
    for entry in found.values():
        ObservedFile.model_validate_json(json.dumps(entry))


def test_an_unreadable_file_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)
    entry = entries(tmp_path)["secret"]
    assert (entry["sha256"], entry["sniffed"], entry["size"]) == (None, "unreadable", 1)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "id,price,note\n1,2.5,x\n2,3,\n", "CSV 2 rows: id:int, price:float, note:str?"),
        ("a.csv", "id;n\n1;x\n2;3\n9\n", "CSV (;) 3 rows: id:int, n:mixed; 1 rows of another width"),
        ("a.tsv", "a\tb\n1\t2\n", "TSV 1 rows: a:int, b:int"),
        ("a.json", '{"n": 1, "xs": [{"y": null}]}', "JSON {n: int, xs: [1 × {y: null}]}"),
        ("a.json", '{"n": ', "broken JSON, 1 lines"),
        ("a.jsonl", '{"n": 1}\nnope\n{"n": 2}\n', "JSON lines: 2 lines of {n: int}, 1 broken"),
        ("run", "#!/bin/bash\nls\n", "script (/bin/bash), 2 lines"),
        ("dos.txt", "a\r\nb\r\n", "text, 2 lines, CRLF line ends"),
        ("latin.txt", "caf\xe9".encode("latin-1"), "text that is not UTF-8"),
        ("prog", b"\x7fELF\0\0", "ELF binary"),
    ],
)
def test_contents_are_described(tmp_path: Path, name: str, content: str | bytes, expected: str) -> None:
    assert sniffed(tmp_path / name, content) == expected


def test_databases_and_archives_are_described(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute('CREATE TABLE "odd ""name" (id INTEGER, label TEXT)')
    connection.execute('INSERT INTO "odd ""name" VALUES (1, "a")'.replace('"a"', "'a'"))
    connection.commit()
    connection.close()
    (tmp_path / "m.txt").write_text("m")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(tmp_path / "m.txt", "in/m.txt")
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "m.txt", "m.txt")
    found = entries(tmp_path)
    assert found["x.db"]["sniffed"] == 'SQLite: odd "name(id INTEGER, label TEXT) 1 rows'
    assert found["x.zip"]["sniffed"] == "zip archive, 1 members: in/m.txt"
    assert found["x.tar.gz"]["sniffed"] == "tar archive, 1 members: m.txt"
    assert found["x.db"]["sample"] is None


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_repository_is_summarised_and_its_changes_show(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "first")
    git(tmp_path, "branch", "other")
    before = entries(tmp_path)
    assert set(before) == {".git", "a"}
    assert "HEAD main; branches main other; 0 tags; 1 commits; clean" in before[".git"]["sniffed"]
    git(tmp_path, "tag", "v1")
    assert "1 tags" in (tagged := entries(tmp_path)[".git"]["sniffed"])
    refs, at = (re.compile(rf"; {word} (\w{{12}});") for word in ("refs", "at"))
    assert at.findall(tagged) == at.findall(before[".git"]["sniffed"]) != []
    assert refs.findall(tagged) != refs.findall(before[".git"]["sniffed"])
    (tmp_path / "a").write_text("2")
    assert "1 uncommitted changes" in (edited := entries(tmp_path)[".git"]["sniffed"]) and edited != tagged
    assert refs.findall(edited) == refs.findall(tagged)


def test_the_number_of_entries_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / f"{number}").touch()
    monkeypatch.setattr(observer, "MAX_ENTRIES", 3)
    found, truncated = observer.walk([str(tmp_path)], set())
    assert (len(found), truncated) == (3, True)


def test_addresses_are_readable() -> None:
    assert observer.readable("0100007F") == "127.0.0.1"
    assert observer.readable("0" * 32) == "[::]"
