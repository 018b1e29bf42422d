"""Which changes are outputs that the instruction cares about."""

import pytest

from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.environment import ObservedFile
from facet_dagster.validation.outputs import named_folder, names_itself, subjects, whatever_was_made

INSTRUCTION = """
Read `/app/data/in.csv` and write into `/app/out`: `summary.csv`, and `clean/lab.csv`. Mend `/app/bin/run.sh`, which has
to be executable, and tidy up old.log. The list goes to /app/list.txt. Keep `hosts/` as it is. Commit the work in
/app/repo.
"""


def seen(path: str, kind: str = "file", **more: object) -> ObservedFile:
    values = {"path": path, "type": kind, "size": 3, "mode": "0644", "owner": "agent", "sha256": path, **more}
    return ObservedFile.model_validate(values)


GIT = "git repository: HEAD main; branches main old; 0 tags; 2 commits; clean; at a; refs r0; state m0"


def repository(path: str, before: str, after: str) -> FileChange:
    sides = [seen(path, "dir", sha256=None, sniffed=text) for text in (before, after)]
    return FileChange(path=path, change="changed", before=sides[0], after=sides[1])


def added(path: str, kind: str = "file") -> FileChange:
    return FileChange(path=path, change="added", after=seen(path, kind))


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/app/out/summary.csv", True),
        ("/app/out/clean/lab.csv", True),
        ("/app/list.txt", True),
        ("/app/out/other.csv", False),
        ("/app/out/deep/x y.csv", False),
        ("/app/hosts/a.cfg", False),
        ("/app/notes.csv", None),  # only the task's own folder is named
        ("/app/summary.csv.bak", None),
        ("/app/list.txt.old", None),
        ("/app/out/.cache/x", None),
        ("/app/out/run.log", None),
        ("/app/out/__pycache__/x.csv", None),
        ("/app/repo/.git/index", None),
        ("/etc/motd", None),
        ("/var/log/x.csv", None),
    ],
)
def test_what_the_instruction_names(path: str, named: bool | None) -> None:
    found = subjects(StateDiff(files=(added(path),)), INSTRUCTION, "/app")
    assert [subject.named for subject in found] == ([] if named is None else [named])


def test_named_outputs_come_first_and_folders_are_none() -> None:
    changes = (added("/app/out", "dir"), added("/app/out/a.csv"), added("/app/out/summary.csv"))
    found = subjects(StateDiff(files=changes), INSTRUCTION, "/app")
    assert [subject.path for subject in found] == ["/app/out/summary.csv", "/app/out/a.csv"]


def test_notes_count_in_a_named_folder_that_nothing_else_was_written_to() -> None:
    """A manual in Markdown was accepted without any control, since all its pages were taken for notes."""
    pages = (added("/app/hosts/index.md"), added("/app/hosts/setup/README.md"), added("/app/hosts/x.log"))
    beside = (added("/app/out/README.md"), added("/app/out/sub/notes.rst"), added("/app/out/clean/lab.csv"))
    found = subjects(StateDiff(files=(*beside, *pages)), INSTRUCTION, "/app")
    assert [subject.path for subject in found] == [
        "/app/out/clean/lab.csv",
        "/app/hosts/index.md",
        "/app/hosts/setup/README.md",
    ]


def test_what_was_made_holds_notes_only_where_there_is_nothing_else() -> None:
    page, log, table = added("/app/README.md"), added("/app/x.log"), added("/app/x.csv")
    assert [subject.path for subject in whatever_was_made(StateDiff(files=(page, log)))] == ["/app/README.md"]
    assert [subject.path for subject in whatever_was_made(StateDiff(files=(page, log, table)))] == ["/app/x.csv"]


def test_a_mode_counts_where_the_instruction_speaks_of_modes() -> None:
    path = "/app/bin/run.sh"
    change = FileChange(path=path, change="changed", before=seen(path), after=seen(path, mode="0755"))
    diff = StateDiff(files=(change,))
    assert len(subjects(diff, INSTRUCTION, "/app")) == 1
    assert subjects(diff, "Mend /app/bin/run.sh.", "/app") == ()


def test_a_repository_is_one_output_where_git_is_spoken_of() -> None:
    path = "/app/repo/.git"
    diff = StateDiff(files=(repository(path, GIT, GIT.replace("2 commits; clean; at a", "3 commits; clean; at b")),))
    found = subjects(diff, INSTRUCTION, "/app")
    assert [(subject.path, subject.repository) for subject in found] == [(path, True)]
    assert subjects(diff, "Mend the program.", "/app") == ()


@pytest.mark.parametrize(
    ("after", "chosen", "committed"),
    [
        (GIT.replace("clean", "1 uncommitted changes").replace("m0", "m1"), False, False),
        (GIT.replace("m0", "m1"), False, False),  # the configuration
        (GIT.replace("at a", "at b").replace("r0", "r1").replace("2 commits", "3 commits"), True, True),
        (GIT.replace("at a", "at b").replace("r0", "r1"), True, True),  # amended
        (GIT.replace("0 tags", "1 tags").replace("r0", "r1"), True, False),
        (GIT.replace("HEAD main", "HEAD old").replace("at a", "at b").replace("r0", "r1"), True, False),
        (GIT.replace("r0", "r1").replace("2 commits", "3 commits"), True, False),  # on another branch
    ],
)
def test_only_what_refs_and_head_say_makes_a_repository_an_output(after: str, chosen: bool, committed: bool) -> None:
    found = subjects(StateDiff(files=(repository("/app/repo/.git", GIT, after),)), INSTRUCTION, "/app")
    assert [subject.committed for subject in found] == ([committed] if chosen else [])


@pytest.mark.parametrize("keep", [0, 1])
def test_observations_of_earlier_versions_say_less(keep: int) -> None:
    short = [GIT.replace("; at a; refs r0", ""), GIT][keep]
    edited = GIT.replace("clean", "1 uncommitted changes").replace("; at a; refs r0", "")
    grown = edited.replace("2 commits", "3 commits")
    found = [subjects(StateDiff(files=(repository("/r/.git", short, t),)), "git", "/app") for t in (edited, grown)]
    assert [[subject.committed for subject in one] for one in found] == [[], [True]]


def test_names_are_whole_words() -> None:
    assert names_itself("see a/report.json.", "/app/x/a/report.json")
    assert names_itself("see report.json, please", "/app/report.json")
    assert not names_itself("see myreport.json", "/app/report.json")
    assert not names_itself("write a report", "/app/report")
    assert names_itself("write `report`", "/app/report")
    assert names_itself('quote "it\'s (odd).txt"', "/app/it's (odd).txt")
    assert not named_folder("see /app/outer", "/app/out/x", "/app")
    assert named_folder("see /srv/www/.", "/srv/www/x/y", "/app")
