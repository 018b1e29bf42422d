"""Which changes are outputs that the instruction cares about."""

import pytest

from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.environment import ObservedFile
from facet_dagster.validation.outputs import names_folder, names_itself, subjects

INSTRUCTION = """
Read `/app/data/in.csv` and write into `/app/out`: `summary.csv`, and `clean/lab.csv`. Mend `/app/bin/run.sh`, which has
to be executable, and tidy up old.log. The list goes to /app/list.txt. Keep `hosts/` as it is. Commit the work in
/app/repo.
"""


def seen(path: str, kind: str = "file", **more: object) -> ObservedFile:
    values = {"path": path, "type": kind, "size": 3, "mode": "0644", "owner": "agent", "sha256": path, **more}
    return ObservedFile.model_validate(values)


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
        ("/app/out/README.md", None),
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


def test_a_mode_counts_where_the_instruction_speaks_of_modes() -> None:
    path = "/app/bin/run.sh"
    change = FileChange(path=path, change="changed", before=seen(path), after=seen(path, mode="0755"))
    diff = StateDiff(files=(change,))
    assert len(subjects(diff, INSTRUCTION, "/app")) == 1
    assert subjects(diff, "Mend /app/bin/run.sh.", "/app") == ()


def test_a_repository_is_one_output_where_git_is_spoken_of() -> None:
    path = "/app/repo/.git"
    sides = [seen(path, "dir", sha256=None, sniffed=f"git repository: HEAD main; {n} commits") for n in (1, 2)]
    diff = StateDiff(files=(FileChange(path=path, change="changed", before=sides[0], after=sides[1]),))
    found = subjects(diff, INSTRUCTION, "/app")
    assert [(subject.path, subject.repository) for subject in found] == [(path, True)]
    assert subjects(diff, "Mend the program.", "/app") == ()


def test_names_are_whole_words() -> None:
    assert names_itself("see a/report.json.", "/app/x/a/report.json")
    assert names_itself("see report.json, please", "/app/report.json")
    assert not names_itself("see myreport.json", "/app/report.json")
    assert not names_itself("write a report", "/app/report")
    assert names_itself("write `report`", "/app/report")
    assert names_itself('quote "it\'s (odd).txt"', "/app/it's (odd).txt")
    assert not names_folder("see /app/outer", "/app/out/x", "/app")
    assert names_folder("see /srv/www/.", "/srv/www/x/y", "/app")
