"""Tasks small enough to be walked without Docker: what a FakeSandbox answers to the commands of the stations.

A solution is a list of `put PATH TEXT` lines (`fail` ends it); a test passes when what the comments above it demand
holds: `# want PATH TEXT`, or `# some PATH` for a file that is not empty. `\\n` in TEXT is a line feed. Stations,
gates, routing and guards are the real ones. Does not belong here: an imitation of bash.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator

from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder

OK = CommandResult(exit_code=0, output="", seconds=0.0)
_TEST = re.compile(r"def (test_\w+)\(")
_EXISTS = re.compile(r"test -s (\S+)")


def answer(container: FakeContainer, command: Command) -> CommandResult:
    """What a container on a toy task says to a command; anything unknown succeeds in silence."""
    if "runpy" in command.script:
        return _observe(container)
    if command.script == "bash /solution/solve.sh":
        return work(container, container.files["/solution/solve.sh"].decode())
    if command.script.endswith("exec /tests/test.sh"):
        return _grade(container)
    if asked := _EXISTS.fullmatch(command.script):
        there = bool(container.files.get(asked[1]))
        return OK if there else CommandResult(exit_code=1, output=f"{asked[1]} is not there", seconds=0.0)
    return _spoil(container, command.script) if container.spec.purpose == "control" else OK


def work(container: FakeContainer, script: str) -> CommandResult:
    """Do what the lines of a script say."""
    for line in script.splitlines():
        words = shlex.split(line, comments=True) if line.startswith(("put ", "fail")) else []
        if words[:1] == ["put"]:
            container.files[words[1]] = _text(words[2])
        if words[:1] == ["fail"]:
            return CommandResult(exit_code=1, output="sort: cannot read", seconds=0.1)
    return OK


class ToyBuilder(FakeImageBuilder):
    """Puts the context's files where the Dockerfile's COPY would."""

    async def build(self, request: BuildRequest) -> BuildResult:
        """Answer, and make the image known if it was built."""
        result = await super().build(request)
        if result.ok:
            tree = self._sandbox.images[result.image]
            self._sandbox.images[result.image] = {path.removeprefix("/files"): data for path, data in tree.items()}
        return result


def _text(escaped: str) -> bytes:
    return escaped.replace("\\n", "\n").encode()


def _observe(container: FakeContainer) -> CommandResult:
    files = [
        {
            "path": path,
            "type": "file",
            "size": len(data),
            "mode": "0644",
            "owner": "agent",
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for path, data in sorted(container.files.items())
        if path.startswith("/app/")
    ]
    state = {"files": files, "packages": [], "tools": {}, "users": [], "listening": []}
    container.files["/usr/local/lib/facet-observe/state.json"] = json.dumps(state).encode()
    return OK


def _grade(container: FakeContainer) -> CommandResult:
    tests = list(_tests(container))
    reward = float(bool(tests) and all(test["outcome"] == "passed" for test in tests))
    results = {"trouble": None, "limit": None, "tests": tests}
    container.files["/logs/verifier/results.json"] = json.dumps(results).encode()
    container.files["/logs/verifier/reward.json"] = json.dumps({"reward": reward}).encode()
    return OK


def _tests(container: FakeContainer) -> Iterator[dict[str, str]]:
    wrong: list[str] = []
    for line in container.files["/tests/test_outputs.py"].decode().splitlines():
        if line.startswith(("# want ", "# some ")):
            _, word, path, *text = line.split(maxsplit=3)
            there = container.files.get(path, b"")
            holds = bool(there) if word == "some" else there == _text(text[0])
            wrong += [] if holds else [path]
        elif test := _TEST.match(line):
            message = f"AssertionError: {wrong[0]}: expected other content" if wrong else ""
            yield {"name": test[1], "outcome": "failed" if wrong else "passed", "message": message}
            wrong = []


def _spoil(container: FakeContainer, script: str) -> CommandResult:
    """The control scripts that these small tasks meet."""
    words = shlex.split(script)
    if script.startswith("cat /facet-control >"):
        container.files[words[-1]] = container.files["/facet-control"]
    elif script.startswith(": >"):
        container.files[words[-1]] = b""
    elif script.startswith("rm -f -- "):
        del container.files[words[-1]]
    elif script.startswith("mv -T"):
        container.files[words[-1]] = container.files.pop(words[-2])
    elif script.startswith("cat < "):
        container.files[words[-1]] = container.files[words[2]]
    return OK
