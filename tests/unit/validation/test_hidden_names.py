"""Names that tests demand and nobody tells: read off the tests, looked up in e0, held by what the solution leaves."""

import gzip
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.environment.observe import difference
from facet_dagster.records.container import Command, CommandResult, FileEntry
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, SkippedGate, ValidationReport
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.validation import lookup
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.static.names import untold_names
from facet_dagster.validation.validate import validate

HEAD = "import json, os\nfrom pathlib import Path\n\ndef out():\n    return json.loads(Path('/app/x').read_text())\n"


def task_of(candidate: Candidate, body: str, instruction: str = "Sum up the rows in /app/x.json.") -> Candidate:
    tests = (FileEntry(path="/tests/test_outputs.py", content=f"{HEAD}{body}\n"),)
    return replace(candidate, tests=tests, instruction=instruction, context=(), e0=None)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("def test_a():\n    assert out()['grand_total'] == 3", {"grand_total"}),
        ("def test_a():\n    assert out().get('grand_total') == 3", {"grand_total"}),
        ("def test_a():\n    assert 'grand_total' in out()", {"grand_total"}),
        ("KEY = 'grand_total'\ndef test_a():\n    assert out()[KEY] == 3", {"grand_total"}),
        ("def test_a():\n    assert list(out()[0]) == ['region', 'grand_total']", {"region", "grand_total"}),
        ("HEADER = ('region', 'turnover')\ndef test_a():\n    assert out()[0] == HEADER", {"region", "turnover"}),
        ("def test_a():\n    assert {'turnover'} <= set(out())", {"turnover"}),
        ("def test_a():\n    assert out() == {'turnover': 3}", {"turnover"}),
        ("def test_a():\n    assert [r for r in out() if r[0] == 'overdue'] and True", {"overdue"}),
        ("class TestX:\n    def test_a(self):\n        self.assertIn('turnover', out())", {"turnover"}),
        ("class TestX:\n    def test_a(self):\n        self.assertEqual(out(), 'overdue')", {"overdue"}),
        ("def test_a():\n    assert out()['grand_total'] == 3, 'no grand_total: see the\\nlog'", {"grand_total"}),
    ],
)
def test_what_tests_demand_is_read_off(candidate: Candidate, body: str, names: set[str]) -> None:
    assert {name.text for name in untold_names(task_of(candidate, body))} == names


@pytest.mark.parametrize(
    "body",
    [
        "def test_a():\n    assert out()['rows'] == out()['sum_rows'] == out()['Row-Sum']",  # words of the instruction
        "def test_a():\n    assert out()['name'] == 'utf-8' and out()['type'] == 'text/html'",  # anybody's words
        "def test_a():\n    assert out()['id'] == '12.50' and out()['k2'] == '9f86d081884c7d65'",  # no names
        "def test_a():\n    assert os.environ['SOMETHING'] and os.environ.get('OTHER_THING')",
        "def test_a():\n    assert out()['a'] == 'red' or out()['a'] == 'crimson'",  # alternatives
        "def test_a():\n    assert out()['a'] in ('red', 'crimson') and 'secret' not in out()",
        "def test_a():\n    assert not out() == 'overdue' and out() != 'overdue'",
        "WANTED = {'turnover': 3}\ndef test_a():\n    assert out()['turnover'] == WANTED['turnover']",  # their own data
        "def test_a():\n    found = {}\n    found['turnover'] = 3\n    assert found['turnover'] == 3",
        "def test_a():\n    Path('/app/i.csv').write_text('turnover;3')\n    assert out()['turnover'] == '3'",
        "MADE = '''turnover;3\nx;2'''\ndef test_a():\n    assert out()['turnover'] == '3'",
        "def test_a():\n    for n in range(3):\n        print(f'turnover-{n}')\n    assert 'turnover-1' in out()",
        "def test_a():\n    assert out() == 'a sentence of more than a few words that a test expects'",
        "def test_a():\n    assert out() == '/app/some/place'",
    ],
)
def test_what_is_told_or_their_own_is_left_out(candidate: Candidate, body: str) -> None:
    assert [name.text for name in untold_names(task_of(candidate, body))] == []


def test_the_place_is_named(candidate: Candidate) -> None:
    (name,) = untold_names(task_of(candidate, "def test_a():\n    assert out()['turnover'] == 3"))
    assert (name.text, name.place, name.value) == ("turnover", "tests/test_outputs.py:7", False)


BODY = "def test_r1_total():\n    assert out()['grand_total'] == 'ops-west'"
Validated = Callable[..., Any]


@pytest.fixture
def validated(candidate: Candidate, tools: dict[str, Any]) -> Validated:
    """Validation by the gates concerned, where each search finds what it is told to."""

    async def run(*searches: str | CommandResult, **changed: Any) -> tuple[ValidationReport, list[Command]]:
        grades = iter([tools["graded"](1.0, ("test_r1_total", "passed", ""))] * 2)
        found, asked = iter(searches), list[Command]()

        def answer(container: FakeContainer, command: Command) -> CommandResult:
            if lookup.END in command.script:
                asked.append(command)
                said = next(found)
                return tools["result"](output=said) if isinstance(said, str) else said
            if command.script.endswith("exec /tests/test.sh"):
                taken: CommandResult = tools["take"](container, next(grades))
                return taken
            done: CommandResult = tools["result"]()
            return done

        report = await validate(
            replace(task_of(candidate, BODY), contract=None, **changed),
            bundle="b" * 64,
            sandbox=FakeSandbox(answer, {candidate.image: {}}),
            repeats=2,
            controls_max=0,
            observe=None,  # type: ignore[arg-type]
            difference=difference,
            gates=(Gate.ORACLE, Gate.CONTRACT),
        )
        return report, asked

    return run


def lines(*searches: str) -> str:
    return "".join(f"{found}{lookup.END}\n" for found in searches)


async def test_a_hidden_name_is_the_fault_of_the_tests(validated: Validated) -> None:
    report, asked = await validated(lines("", ""), lines("Grand_Total\n"))
    gate = report.gates[-1]
    assert (gate.gate, gate.passed) == (Gate.CONTRACT, False)
    assert (gate.reason, gate.component) == (Reason.HIDDEN_NAME, Component.VERIFIER)
    assert "tests/test_outputs.py:7: 'grand_total' is demanded" in gate.evidence
    assert "ops-west" not in gate.evidence  # no output holds it
    assert len(asked) == 2  # one look each before and after the first run of the solution
    assert all(command.user == "root" for command in asked)


@pytest.mark.parametrize(
    "before",
    [
        lines("GRAND-total\nops-west\n", ""),  # told, in another spelling
        lines("ops west\n", "grand\n"),  # a word of the task's files and one of the instruction
        lines(f"{lookup.OPAQUE}\n", ""),  # it may stand in a file that cannot be looked into
        lines(""),  # the search did not come to its end
        "",
    ],
)
async def test_what_e0_tells_or_may_tell_is_not_hidden(validated: Validated, before: str) -> None:
    report, _ = await validated(before, lines("grand_total\n"), instruction="The total goes to /app/x.json.")
    assert [type(gate) for gate in report.gates] == [GateResult]
    assert report.skipped == (SkippedGate(gate=Gate.CONTRACT, why="the task has no requirements with ids"),)


async def test_a_search_cut_short_hides_nothing(validated: Validated, tools: dict[str, Any]) -> None:
    report, asked = await validated(tools["result"](-1, lines("", ""), "time"))
    assert (report.verdict, len(asked)) == (True, 1)
    report, _ = await validated(lines("", ""), tools["result"](-1, lines("grand_total\n"), "time"))
    assert report.verdict is True


async def test_nobody_is_asked_where_reading_tells_all(validated: Validated) -> None:
    report, asked = await validated(instruction="`grand_total` is ops-west in /app/x.json.")
    assert (report.verdict, asked) == (True, [])


def searched(folder: Path, *words: str) -> list[str]:
    script = f"{lookup._LOOK}\n{lookup._script(lookup.Search(frozenset(words), str(folder)))}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_contents_names_archives_and_repositories_are_searched(tmp_path: Path) -> None:
    (tmp_path / "in it's folder").mkdir()
    (tmp_path / "in it's folder" / "a.bin").write_bytes(b"\xff\0Grand_Total\0x")
    (tmp_path / "Turnover.txt").write_text("nothing")
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(b"an overdue row\n"))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "."], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "bring the surplus back"], check=True)
    wanted = ["grand_total", "turnover", "overdue", "surplus", "it's", "nowhere"]
    assert sorted(searched(tmp_path, *wanted), key=str.lower) == [
        *("facet-end-of-search", "Grand_Total", "it's", "overdue", "surplus", "Turnover")
    ]
    assert searched(tmp_path / "in it's folder", "nowhere") == [lookup.END]


@pytest.mark.parametrize(("name", "content"), [("a.gz", b"damaged"), ("b.bundle", b"x"), ("C.PDF", b"x")])
def test_a_file_that_cannot_be_looked_into_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert searched(tmp_path, "nowhere") == [lookup.OPAQUE, lookup.END]
