"""Negative controls: made from what changed, every output first. How they are run stands in test_controls_gate.py."""

import shlex
from pathlib import PurePosixPath
from typing import Any

import pytest

from facet_dagster.records.authoring import FileChange
from facet_dagster.records.container import CommandResult
from facet_dagster.records.validation import ControlKind
from facet_dagster.testing.examples import an_observed_file as seen
from facet_dagster.validation.controls import Control, Facts, make_controls
from facet_dagster.validation.outputs import Subject

OK = CommandResult(exit_code=0, output="", seconds=0.1)
CSV = b"name,n\na,1\nb,2\nc,3\n"


def created(path: str, *, named: bool = True, **more: Any) -> Subject:
    return Subject(
        FileChange(path=path, change="added", after=seen(path, **more)), None if named else PurePosixPath("/app")
    )


def changed(path: str, **more: Any) -> Subject:
    sides = {"before": seen(path, sha256="before"), "after": seen(path, **more)}
    return Subject(FileChange(path=path, change="changed", **sides))


def kinds(controls: tuple[Control, ...]) -> list[ControlKind]:
    return [control.kind for control in controls]


def test_every_kind_that_a_created_table_allows() -> None:
    facts = Facts(after={"/app/o.csv": CSV}, unchanged=(seen("/app/in.csv"), seen("/app/in.txt")))
    controls = make_controls([created("/app/o.csv")], facts, 20)
    assert kinds(controls) == [
        ControlKind.VALUE,
        ControlKind.TRUNCATED,
        ControlKind.HEADER_ONLY,
        ControlKind.STALE_COPY,
        ControlKind.EMPTIED,
        ControlKind.LEFT_OUT,
        ControlKind.MISPLACED,
    ]
    assert [c.payload for c in controls[:3]] == [b"name,n\na,1\nb,3\nc,3\n", b"name,n\na,1\n", b"name,n\n"]
    assert "cat < /app/in.csv > /app/o.csv" in controls[3].script


@pytest.mark.parametrize(
    ("subject", "content", "old", "expected"),
    [
        (created("/app/x.sh"), b"#!/bin/sh\necho 1\n", None, ["EMPTIED", "LEFT_OUT", "MISPLACED"]),
        (created("/app/x", mode="0755"), b"echo 1\n", None, ["EMPTIED", "LEFT_OUT", "MISPLACED"]),
        (changed("/app/x.py"), b"print(1)\n", b"print(2)\n", ["PUT_BACK", "EMPTIED", "LEFT_OUT", "MISPLACED"]),
        (created("/app/x.gz", named=False), b"\x1f\x8b" + b"x" * 90, None, ["TRUNCATED", "EMPTIED", "LEFT_OUT"]),
        (created("/app/x.bin"), b"\0" * 3_000_000, None, ["EMPTIED", "LEFT_OUT", "MISPLACED"]),
        (
            created("/app/x.db"),
            b"SQLite format 3\0" + b"\1" * 99,
            None,
            ["ROW_DELETED", "EMPTIED", "LEFT_OUT", "MISPLACED"],
        ),
        (
            changed("/app/x.db"),
            b"SQLite format 3\0\1",
            b"SQLite format 3\0\2",
            ["PUT_BACK", "EMPTIED", "LEFT_OUT", "MISPLACED"],
        ),
        (
            created("/app/x.md"),
            b"One line of words, and\nanother of them as well.\n",
            None,
            ["EMPTIED", "LEFT_OUT", "MISPLACED"],
        ),
        (created("/app/n.txt"), b"42\n", None, ["VALUE", "EMPTIED", "LEFT_OUT", "MISPLACED"]),
        (created("/app/flag"), b"", None, ["LEFT_OUT"]),
        (
            changed("/app/c.csv"),
            CSV,
            b"name,n\na,1\n",
            ["VALUE", "PUT_BACK", "HEADER_ONLY", "EMPTIED", "LEFT_OUT", "MISPLACED"],
        ),
        (created("/app/l", type="link", target="x"), None, None, ["LEFT_OUT"]),
    ],
    ids=lambda value: value.path if isinstance(value, Subject) else "",
)
def test_the_kind_of_file_decides(
    subject: Subject, content: bytes | None, old: bytes | None, expected: list[str]
) -> None:
    after = {subject.path: content} if content is not None else {}
    before = {subject.path: old} if old is not None else {}
    controls = make_controls([subject], Facts(after=after, before=before), 20)
    assert [kind.name for kind in kinds(controls)] == expected


def test_removed_files_and_modes_are_put_back() -> None:
    path = "/app/old name's.log"
    removed = Subject(FileChange(path=path, change="removed", before=seen(path, owner="root", mode="0600")))
    (control,) = make_controls([removed], Facts(before={path: b"x"}), 8)
    assert (control.kind, control.payload) == (ControlKind.PUT_BACK, b"x")
    assert "chmod 0600" in control.script and "chown -- root" in control.script
    assert shlex.quote(path) in control.script
    assert make_controls([removed], Facts(), 8) == ()
    mode = {"before": seen("/app/r", mode="0644"), "after": seen("/app/r", mode="0755")}
    only_mode = Subject(FileChange(path="/app/r", change="changed", **mode))
    (control,) = make_controls([only_mode], Facts(after={"/app/r": b"x"}), 8)
    assert control.script == "chmod 0644 -- /app/r"


def test_a_repository_goes_back_by_a_commit_or_whole() -> None:
    path = "/app/repo/.git"
    before, after = (seen(path, type="dir", sniffed=f"git repository: {n} commits") for n in (1, 2))
    subject = Subject(FileChange(path=path, change="changed", before=before, after=after))
    facts = Facts(before={path: b"tar"}, after={path: b"other"})
    controls = make_controls([subject], facts, 8)
    assert kinds(controls) == [ControlKind.COMMIT_UNDONE, ControlKind.PUT_BACK]
    assert controls[1].payload == b"tar"
    tagged = Subject(FileChange(path=path, change="changed", before=after, after=after))
    assert kinds(make_controls([tagged], facts, 8)) == [ControlKind.PUT_BACK]


def test_every_output_comes_first_and_k_bounds_all() -> None:
    several = [created(f"/app/{n}.txt") for n in "abcde"]
    facts = Facts(after={subject.path: b"42\n" for subject in several})
    controls = make_controls(several, facts, 8)
    assert [control.path for control in controls] == [f"/app/{n}.txt" for n in "abcdeabc"]
    assert kinds(controls) == [ControlKind.VALUE] * 5 + [ControlKind.EMPTIED] * 3
    assert make_controls(several, facts, 8) == controls
    assert make_controls(several, facts, 0) == ()
