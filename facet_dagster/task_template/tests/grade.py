"""Runs test_outputs.py and turns what pytest reports into a reward; standard library only.

Reward 1 when every collected test passed, 0 when some did not. When the tests could not be run to a verdict
(collection error, nothing executed, pytest broken, time over) no reward is written, the exit code is 3, and
results.json says why. The tests themselves stand in test_outputs.py, what they may call in support.py.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

DEFAULT_TIMEOUT_S = 300.0
MESSAGE = 500  # characters kept of what a test said
WORSE = ["passed", "skipped", "failed", "error"]  # a test reported twice (body and teardown) counts as the worse
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


class Trouble(Exception):
    """The tests could not be run to a verdict. `limit` is "time" when the time was over."""

    def __init__(self, message: str, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit = limit


def run_pytest(tests: Path, junit: Path, timeout_s: float, *, first_failure: bool) -> int:
    """pytest's exit code. -I keeps the surroundings out; pytest itself puts `tests` on the path for `support`.

    `first_failure` ends the run there: enough where only the reward counts.
    """
    arguments = ["-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", f"--rootdir={tests}", "-q", "--tb=short"]
    arguments += ["--exitfirst"] if first_failure else []
    command = [sys.executable, "-I", "-B", "-m", "pytest", *arguments, f"--junitxml={junit}", "test_outputs.py"]
    process = subprocess.Popen(
        command, cwd=tests, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise Trouble(f"the tests did not end within {timeout_s:g} s", "time") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read_junit(junit: Path) -> list[dict[str, str]]:
    """One entry per test, in the order of the file."""
    try:
        cases = ElementTree.parse(junit).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        raise Trouble(f"pytest left no readable report: {type(error).__name__}") from None
    results: dict[tuple[str, str], dict[str, str]] = {}
    for case in cases:
        key = (case.get("classname", ""), case.get("name", ""))
        if not key[1]:
            raise Trouble("pytest was stopped in the middle of a test")
        entry = {"name": key[1], "outcome": "passed", "message": ""}
        for tag, outcome in (("skipped", "skipped"), ("failure", "failed"), ("error", "error")):
            node = case.find(tag)
            if node is not None:
                entry.update(outcome=outcome, message=message_of(node))
        earlier = results.get(key)
        if earlier is None or WORSE.index(entry["outcome"]) > WORSE.index(earlier["outcome"]):
            results[key] = entry
    return list(results.values())


def message_of(node: ElementTree.Element) -> str:
    """What the test said; where that names no cause (a module that cannot be imported), the end of the traceback."""
    message = node.get("message", "").strip()
    text = (node.text or "").strip()
    return text[-MESSAGE:] if message in {"", "collection failure"} and text else message[:MESSAGE]


def judge(code: int, results: list[dict[str, str]]) -> dict[str, float]:
    """The reward, as flat numbers. Raises Trouble where there is no verdict."""
    executed = sum(r["outcome"] in {"passed", "failed"} for r in results)
    if code == 5 or (code in {0, 1} and not executed):
        raise Trouble("no test was executed")
    if code == 2:
        raise Trouble("the tests could not be collected")
    if code not in {0, 1}:
        raise Trouble(f"pytest ended with exit code {code}")
    passed = sum(r["outcome"] == "passed" for r in results)
    if code == 0 and any(r["outcome"] in {"failed", "error"} for r in results):
        raise Trouble("pytest's exit code and report disagree")
    reward = 1.0 if code == 0 and passed == len(results) else 0.0
    return {"reward": reward, "tests_passed": passed, "tests_total": len(results)}


def write(path: Path, value: Any) -> None:
    """Whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=1), encoding="utf-8")
    partial.replace(path)


def main(tests: Path, logs: Path, timeout_s: float, *, first_failure: bool = False) -> int:
    """Grade; 0 when a reward was written, 3 when not."""
    logs.parent.mkdir(parents=True, exist_ok=True)
    logs.mkdir(mode=0o700, exist_ok=True)
    for name in ("reward.json", "reward.txt", "results.json"):
        (logs / name).unlink(missing_ok=True)
    results: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as private:
        junit = Path(private) / "junit.xml"
        try:
            code = run_pytest(tests, junit, timeout_s, first_failure=first_failure)
            results = read_junit(junit)
            reward = judge(code, results)
        except Trouble as trouble:
            write(logs / "results.json", {"trouble": str(trouble), "limit": trouble.limit, "tests": results})
            print(f"no reward: {trouble}", file=sys.stderr)
            return 3
    write(logs / "results.json", {"trouble": None, "limit": None, "tests": results})
    write(logs / "reward.json", reward)
    return 0


if __name__ == "__main__":
    limit = float(os.environ.get("FACET_GRADE_TIMEOUT") or DEFAULT_TIMEOUT_S)
    first = os.environ.get("FACET_GRADE_FIRST_FAILURE") == "1"
    sys.exit(main(Path("/tests"), Path("/logs/verifier"), limit, first_failure=first))
