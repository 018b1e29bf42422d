"""Rules that every test file must obey before it is run."""

import pytest

from facet_dagster.authoring.static_check import test_file_problems as file_problems
from facet_dagster.authoring.static_check import test_names as names_of

IDS = ("R1", "R2")
GOOD = """
import csv
import pytest
from pathlib import Path
from support import E0, run_as_agent

MERGED = Path("/app/merged.csv")


@pytest.fixture
def rows():
    return [1]


def load():
    assert MERGED.is_file(), f"{MERGED} is missing"
    return list(csv.DictReader(MERGED.open()))


def indirectly():
    return load()


@pytest.mark.parametrize("column", ["id", "total"])
def test_r1_columns(column):
    assert column in load()[0], f"{MERGED} lacks {column}"


def test_r1_r2_rows():
    indirectly()


def test_r2_program():
    if run_as_agent(["/app/solution.sh"]).returncode:
        pytest.fail("/app/solution.sh fails")
"""


def test_a_sound_file_has_no_problems() -> None:
    assert file_problems(GOOD, IDS) == []
    assert names_of(GOOD) == ("test_r1_columns", "test_r1_r2_rows", "test_r2_program")


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ("def test_totals():\n    assert 1", "test_totals is not named test_r<id>"),
        ("def test_r9_x():\n    assert 1", "test_r9_x cites R9, which is not a requirement"),
        ("def test_r1_columns():\n    assert 1", "test_r1_columns is defined twice"),
        ("def test_r1_nothing():\n    load", "test_r1_nothing asserts nothing"),
        ("async def test_r1_later():\n    assert 1", "test_r1_later is asynchronous"),
        ("class TestAll:\n    pass", "class TestAll: tests must be functions"),
        ("import requests", "import of requests"),
        ("from urllib import request", "import of urllib.request"),
        ("import urllib.request as u", "import of urllib.request"),
        ("from . import x", "relative imports"),
        ("def helper():\n    pytest.skip('no')", "skip is not allowed"),
        ("from pytest import skip", "skip is not allowed"),
        ("@pytest.mark.xfail\ndef test_r1_maybe():\n    assert 1", "xfail is not allowed"),
        ("@pytest.fixture\ndef merged():\n    return load()", "fixture merged asserts"),
        ("DATA = open('/app/merged.csv').read()", "open() runs at import"),
        (
            "@pytest.mark.parametrize('f', Path('/app').glob('*'))\ndef test_r1_g(f):\n    assert f",
            "glob() runs at import",
        ),
        ("SOLUTION = '/solution/notes'", "the file mentions /solution"),
        ("SCRIPT = 'solve.sh'", "the file mentions solve.sh"),
    ],
)
def test_each_fault_is_named_and_nothing_else(added: str, problem: str) -> None:
    problems = file_problems(f"{GOOD}\n\n{added}\n", IDS)
    assert len(problems) == 1 and problem in problems[0]


def test_a_variable_may_be_called_skip() -> None:
    assert file_problems(f"{GOOD}\n\ndef lines(skip):\n    return load()[skip:]\n", IDS) == []


def test_requirements_without_a_test_and_files_without_tests() -> None:
    assert file_problems(GOOD, (*IDS, "R3")) == ["no test cites R3"]
    assert file_problems("x = 1\n", ("R1",)) == ["there is no test function at module level", "no test cites R1"]


def test_what_is_no_python_is_refused() -> None:
    assert file_problems("def (:\n", IDS)[0].startswith("test_file is not valid Python")


def test_raising_an_assertion_error_is_an_assertion() -> None:
    source = "def test_r1_x():\n    if not 1:\n        raise AssertionError('no')\n"
    assert file_problems(source, ("R1",)) == []
