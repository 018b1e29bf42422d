"""The skeleton's grade.py over real pytest runs: what gives a reward, and what leaves none."""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import facet_dagster.task_template.tests as skeleton

SKELETON = Path(next(iter(skeleton.__path__)))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"skeleton_{name}", SKELETON / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GRADE = load("grade")


class Graded:
    """One run of grade.py on a test file."""

    def __init__(self, folder: Path, tests: str, timeout_s: float = 60.0, *, first_failure: bool = False) -> None:
        (folder / "tests").mkdir()
        (folder / "tests" / "test_outputs.py").write_text(tests)
        (folder / "tests" / "support.py").write_bytes((SKELETON / "support.py").read_bytes())
        self.tests = folder / "tests"
        self.logs = folder / "logs" / "verifier"
        self.code = GRADE.main(self.tests, self.logs, timeout_s, first_failure=first_failure)

    def read(self, name: str) -> Any:
        path = self.logs / name
        return json.loads(path.read_text()) if path.exists() else None

    def outcomes(self) -> dict[str, str]:
        return {test["name"]: test["outcome"] for test in self.read("results.json")["tests"]}


def test_all_passed_gives_one_and_support_can_be_imported(tmp_path: Path) -> None:
    tests = "from support import E0, run_as_agent\ndef test_r1_a():\n    assert str(E0) == '/tests/e0'\n"
    graded = Graded(tmp_path, tests)
    assert graded.code == 0
    assert graded.read("reward.json") == {"reward": 1.0, "tests_passed": 1, "tests_total": 1}
    assert graded.outcomes() == {"test_r1_a": "passed"}
    assert graded.logs.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in graded.tests.iterdir()} == {"test_outputs.py", "support.py"}  # nothing is left behind


def test_where_only_the_reward_counts_the_first_failure_is_enough(tmp_path: Path) -> None:
    tests = "def test_r1_a(): pass\ndef test_r2_b(): assert False\ndef test_r3_c(): pass\n"
    graded = Graded(tmp_path, tests, first_failure=True)
    assert graded.code == 0
    assert graded.read("reward.json")["reward"] == 0.0
    assert graded.outcomes() == {"test_r1_a": "passed", "test_r2_b": "failed"}


def test_a_failure_gives_zero_and_says_what_was_wrong(tmp_path: Path) -> None:
    tests = (
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_r1_sum(n):\n    assert n == 1, f'total is {n}, expected 1' + 'x' * 900\n"
    )
    graded = Graded(tmp_path, tests)
    assert graded.code == 0
    assert graded.read("reward.json") == {"reward": 0.0, "tests_passed": 1, "tests_total": 2}
    assert graded.outcomes() == {"test_r1_sum[1]": "passed", "test_r1_sum[2]": "failed"}
    message = graded.read("results.json")["tests"][1]["message"]
    assert message.startswith("AssertionError: total is 2, expected 1")
    assert len(message) == GRADE.MESSAGE


@pytest.mark.parametrize(
    "tests",
    [
        "import pytest\ndef test_r1_a(): pass\ndef test_r1_b(): pytest.skip('no')\n",
        "import pytest\ndef test_r1_a(): pass\n@pytest.fixture\ndef f(): raise OSError('x')\ndef test_r1_b(f): pass\n",
        "import pytest\n@pytest.fixture\ndef f():\n    yield\n    raise OSError('x')\ndef test_r1_b(f): pass\n"
        "def test_r1_a(): pass\n",
    ],
    ids=["skipped", "setup-error", "teardown-error"],
)
def test_a_test_that_did_not_pass_is_never_a_one(tmp_path: Path, tests: str) -> None:
    graded = Graded(tmp_path, tests)
    assert graded.read("reward.json") == {"reward": 0.0, "tests_passed": 1, "tests_total": 2}


@pytest.mark.parametrize(
    ("tests", "trouble"),
    [
        ("import nowhere_to_be_found\ndef test_r1_a(): pass\n", "could not be collected"),
        ("def test_r1_a(:\n", "could not be collected"),
        ("x = 1\n", "no test was executed"),
        ("import pytest\ndef test_r1_a(): pytest.skip('no')\n", "no test was executed"),
        ("import os\ndef test_r1_a(): os._exit(0)\n", "no readable report"),
        (
            "import pytest\ndef test_r1_a(): pass\ndef test_r1_b(): pytest.exit('enough', returncode=0)\n",
            "stopped in the middle",
        ),
    ],
    ids=["import", "syntax", "empty", "all-skipped", "exit-in-test", "pytest-exit"],
)
def test_tests_that_cannot_run_leave_no_reward(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], tests: str, trouble: str
) -> None:
    graded = Graded(tmp_path, tests)
    assert graded.code == 3
    assert graded.read("reward.json") is None
    assert trouble in graded.read("results.json")["trouble"]
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("no reward: ")]


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    graded = Graded(tmp_path, "import nowhere_to_be_found\ndef test_r1_a(): pass\n")
    assert "nowhere_to_be_found" in graded.read("results.json")["tests"][0]["message"]


def test_time_over_is_told_and_leaves_no_process(tmp_path: Path) -> None:
    tests = (
        "import os, pathlib, subprocess, time\n"
        "def test_r1_a():\n"
        f"    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    graded = Graded(tmp_path, tests, timeout_s=3.0)
    assert graded.code == 3
    assert graded.read("reward.json") is None
    assert graded.read("results.json")["limit"] == "time"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_planted_rewards_and_surroundings_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "json.py").write_text("raise SystemExit(0)\n")
    monkeypatch.setenv("PYTHONPATH", str(planted))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    logs = tmp_path / "logs" / "verifier"
    logs.mkdir(parents=True)
    (logs / "reward.txt").write_text("1")
    (logs / "reward.json").write_text('{"reward": 1.0}')
    graded = Graded(tmp_path, "import json\ndef test_r1_a(): assert False\n")
    assert graded.read("reward.json")["reward"] == 0.0
    assert not (logs / "reward.txt").exists()


def test_a_conftest_beside_the_tests_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("raise RuntimeError('read')\n")
    graded = Graded(tmp_path, "def test_r1_a(): assert True\n")
    assert graded.code == 0
