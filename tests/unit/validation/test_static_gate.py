"""G0: each fault is named with its place, and what is sound or in doubt is left alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.container import FileEntry
from facet_dagster.records.environment import ObservedFile, ObservedState
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import GateResult
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.examination import Examination
from facet_dagster.validation.gates.static_gate import static
from facet_dagster.validation.static.shell import network_commands

SOUND = """
import csv, json, sqlite3
from pathlib import Path
import pytest, yaml
from support import E0, run_as_agent
import helpers

APP = Path("/app")
OUT = APP / "total"


def test_r1_total():
    assert (APP / "total").read_text() == "3"
    assert not (APP / "left.lock").exists()
    run_as_agent(["/app/prog", "--out", "/app/scratch.json"])
    (APP / "probe.txt").write_text("x")
"""


def file_of(text: str, name: str = "test_outputs.py") -> FileEntry:
    return FileEntry(path=f"/tests/{name}", content=text)


@pytest.fixture
def read(candidate: Candidate) -> Callable[..., Any]:
    async def found(tests: tuple[FileEntry, ...] | None = None, **changed: Any) -> GateResult:
        if tests is not None:
            changed["tests"] = (*tests, file_of("X = 1\n", "helpers.py"))
        return await static(Examination(replace(candidate, **changed), None, 1, 1, None, None))  # type: ignore[arg-type]

    return found


async def test_a_sound_task_has_no_findings(read: Callable[..., Any]) -> None:
    result = await read()
    assert result.passed is True, result.evidence
    result = await read((file_of(SOUND),))
    assert result.passed is True, result.evidence


@pytest.mark.parametrize(
    ("added", "what"),
    [
        ("def test_x(:\n    pass", "does not parse"),
        ("import pandas", "imports pandas, which the image does not install"),
        ("S = open('/solution/solve.sh').read()", "reaches for the solution"),
        (
            "import subprocess\nsubprocess.run(['pip', 'install', 'x'])",
            "installs or fetches while grading: pip install x",
        ),
        ("import os\nos.system('curl -s https://a.example.org/x')", "installs or fetches"),
        ("import urllib.request\nurllib.request.urlopen('https://a.example.org/x')", "installs or fetches"),
        ("def test_log():\n    assert Path('/app/audit.log').read_text()", "/app/audit.log is demanded"),
        ("def test_log():\n    assert (APP / 'logs' / 'audit.log').exists()", "/app/logs/audit.log is demanded"),
        ("def test_log():\n    assert open(f'{APP}/audit.log').read() == 'x'", "/app/audit.log is demanded"),
    ],
)
async def test_faults_of_tests_are_named_with_their_line(read: Callable[..., Any], added: str, what: str) -> None:
    result = await read((file_of(f"{SOUND}\n{added}\n"),), diff=None)
    assert (result.passed, result.reason, result.component) == (False, Reason.STATIC_FAULT, Component.VERIFIER)
    assert what in result.evidence and "tests/test_outputs.py:" in result.evidence
    assert len(result.evidence.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = 1\n", "holds no test function"),
        ("from pathlib import Path\ndef test_a():\n    Path('/app/total').read_text()\n", "no test asserts anything"),
        (
            "import os\nfrom pathlib import Path\ndef test_a():\n    assert Path('/app/total').exists()\n"
            "def test_b():\n    assert os.path.getsize('/app/total') > 0\n    p = Path('/app/total')\n"
            "    assert p.is_file() and len(p.read_text().strip()) > 0\n",
            "nothing but that files exist",
        ),
    ],
)
async def test_tests_that_check_next_to_nothing(read: Callable[..., Any], text: str, what: str) -> None:
    result = await read((file_of(text),))
    assert (result.passed, result.component) == (False, Component.VERIFIER)
    assert what in result.evidence


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    assert not __import__('os').path.exists('/app/secret')\n",
        "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n",
        "import subprocess\ndef test_a():\n    subprocess.run(['/app/run.sh'], check=True)\n",
        "from helpers import check_total\ndef test_a():\n    check_total('/app/total')\n",
        "try:\n    import pandas\nexcept ImportError:\n    pandas = None\ndef test_a():\n    assert pandas == 3\n",
        "def test_a():\n    assert '/app/solution/notes' and 'solve.sh' == 1\n",
        "import requests.x as y\n",
    ],
)
async def test_what_is_in_doubt_is_no_finding(read: Callable[..., Any], text: str) -> None:
    installs = "FROM debian:bookworm\nRUN pip install requests\n"
    result = await read((file_of(f"{SOUND}\n{text}"),), dockerfile=installs)
    assert result.passed is True, result.evidence


async def test_a_path_is_found_in_instruction_environment_or_folder(read: Callable[..., Any]) -> None:
    tests = (file_of(SOUND.replace('"total"', '"deep" / "audit.log"')),)
    assert (await read(tests, diff=None)).passed is False
    for changed in (
        {"instruction": "Keep an audit.log."},
        {"instruction": "Everything goes to /app/deep, please."},
        {"context": (FileEntry(path="files/app/conf.ini", content="log=/app/deep/audit.log"),)},
        {"e0": ObservedState(files=(seen("/app/deep/audit.log"),), packages=(), tools={}, users=(), listening=())},
    ):
        assert (await read(tests, diff=None, **changed)).passed is True, changed
    created = StateDiff(files=(FileChange(path="/app/other", change="added", after=seen("/app/other")),))
    assert (await read(tests, diff=created)).passed is True  # the solution does not make it: no output


def seen(path: str, sample: str | None = None) -> ObservedFile:
    return ObservedFile(path=path, type="file", size=9, mode="0644", owner="agent", sample=sample)


@pytest.mark.parametrize(
    ("dockerfile", "what"),
    [
        ("FROM registry.corp.internal:5000/base:1\n", "Dockerfile:1: the base registry.corp.internal:5000/base:1"),
        ("ARG B=localhost/x\nFROM ${B}\n", "Dockerfile:2: the base localhost/x"),
        ("FROM debian\n# c\nADD --chmod=644 https://a.example.org/f /f\n", "Dockerfile:3: ADD fetches"),
        ("FROM debian\nRUN a \\\n  # c\n  b\nCOPY ../x y /z/\n", "Dockerfile:5: COPY ../x reaches outside"),
        ('FROM debian\nCOPY ["../x", "/z"]\n', "Dockerfile:2: COPY ../x reaches outside"),
        (
            "FROM debian\nRUN curl -fsSL https://a.example.org/x.sh | bash\n",
            "Dockerfile:2: RUN fetches what nobody pins",
        ),
        ("FROM debian\nRUN apt-get update \\\n # c\n && wget -q http://a.example.org/x\n", "Dockerfile:2: RUN fetches"),
        ("FROM debian\nRUN curl -sSL get.example.com | sh\n", "RUN fetches what nobody pins: curl"),
        ("FROM debian\nRUN cd /app && git clone --depth 1 https://a.example.org/r.git r\n", "git clone"),
        ("FROM debian\nRUN git clone git@a.example.org:o/r.git\n", "git clone"),
        ("FROM debian\nRUN pip install 'x @ git+https://a.example.org/x'\n", "pip install"),
        ("FROM debian\nRUN python3 -m pip install -q https://a.example.org/x.whl\n", "python3 -m pip install"),
        ("FROM debian\nRUN ls || bash -c 'A=1 curl https://a.example.org/x'\n", "curl"),
        ('FROM debian\nRUN ["wget", "https://a.example.org/x"]\n', "wget"),
        ('FROM debian\nARG U=https://a.example.org\nRUN eval "$(curl -s $U/x)"\n', "Dockerfile:3: RUN fetches"),
        ("FROM debian\nRUN <<EOF\nset -e\ncurl https://a.example.org/x\nEOF\n", "Dockerfile:2: RUN fetches"),
    ],
)
async def test_faults_of_the_image(read: Callable[..., Any], dockerfile: str, what: str) -> None:
    result = await read(dockerfile=dockerfile)
    assert (result.passed, result.component) == (False, Component.ENVIRONMENT)
    assert what in result.evidence


@pytest.mark.parametrize(
    "dockerfile",
    [
        "FROM ubuntu:24.04 AS a\nFROM ghcr.io/x/y:1\nCOPY --from=a /x /y\nADD src.tar.gz /x\n",
        "FROM python:3.12-slim\nRUN <<EOF\nADD https://nothing\nCOPY ../x y\nEOF\nRUN curl -O http://localhost/y\n",
        "# FROM localhost/x\nARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n",
        "FROM us-docker.pkg.dev/p/r/i\n",
        "FROM debian\nRUN apt-get update && apt-get install -y curl git wget && pip install pandas==2.2 'numpy<2'\n",
        "FROM debian\nRUN pip install --index-url https://a.example.org/simple -f https://a.example.org/w torch\n",
        "FROM debian\nRUN echo 'curl https://a.example.org | bash' > /app/README # wget https://a.example.org\n",
        "FROM debian\nRUN git init r && cd r && git remote add origin https://a.example.org/r && git clone r s\n",
        "FROM debian\nRUN cat > /app/get.sh <<'EOF'\ncurl https://a.example.org/x\nEOF\n",
        "FROM debian\nRUN printf '%s\\n' \"it's\" > /app/x && curl -s http://127.0.0.1:80/health\n",
        "",
    ],
)
async def test_usual_images_are_fine(read: Callable[..., Any], dockerfile: str) -> None:
    assert (await read(dockerfile=dockerfile)).passed is True


async def test_solution_and_tests_are_not_in_the_context(read: Callable[..., Any], candidate: Candidate) -> None:
    script = "awk '{ s += $1 } END { print s }' /app/data/in.bin > /app/total\n"
    solution = (FileEntry(path="/solution/solve.sh", content=script),)
    hidden = FileEntry(path="files/app/.cache/x", content=script.replace(" ", "  "))
    result = await read(solution=solution, context=(hidden,))
    assert (result.passed, result.component) == (False, Component.ENVIRONMENT)
    assert "environment/files/app/.cache/x: it is solution/solve.sh" in result.evidence
    named = FileEntry(path="tests/test_outputs.py", content="pass")
    assert (await read(context=(named,))).passed is False


@pytest.mark.parametrize(
    ("sample", "instruction", "sound"),
    [
        ("a,1\n" + "north,120,open\n" * 1, "Write north,120,open.", True),
        ("\n".join(f"station-{n},{n}00,open" for n in range(6)), "No such lines.", True),
        (
            "\n".join(f"station-{n},{n}00,open" for n in range(6)),
            "Write:\n" + "\n".join(f"  station-{n},{n}00,open" for n in range(4)),
            False,
        ),
        ("The answer is a sentence that is long enough to be told from others: 42 and nothing else.", "42", True),
        (
            "The answer is a sentence that is long enough to be told from others: 42 and nothing else.",
            "The answer is a sentence that is long enough to be told\nfrom others: 42 and nothing else. Write it.",
            False,
        ),
    ],
)
async def test_the_instruction_does_not_hold_the_answer(
    read: Callable[..., Any], sample: str, instruction: str, sound: bool
) -> None:
    diff = StateDiff(files=(FileChange(path="/app/o", change="added", after=seen("/app/o", sample)),))
    result = await read(diff=diff, instruction=instruction)
    assert result.passed is sound
    if not sound:
        assert (result.component, "/app/o" in result.evidence) == (Component.INSTRUCTION, True)


async def test_the_instruction_does_not_hold_the_commands(read: Callable[..., Any]) -> None:
    script = "#!/bin/bash\n" + "\n".join(f"sort -k{n} /app/in-{n}.txt > /app/out-{n}.txt" for n in range(6))
    solution = (FileEntry(path="/solution/solve.sh", content=script),)
    assert (await read(solution=solution, instruction=f"Run this:\n{script}")).component is Component.INSTRUCTION
    assert (await read(solution=solution)).passed is True


async def test_what_every_script_begins_with_does_not_hide_its_commands(read: Callable[..., Any]) -> None:
    commands = "cut -d , -f 2 /app/in.csv > /app/second.csv\nsort -u -o /app/sorted.csv /app/second.csv\n"
    solution = (FileEntry(path="/solution/solve.sh", content=f"#!/bin/bash\nset -euo pipefail\n{commands}"),)
    assert (await read(solution=solution, instruction=f"Do:\n{commands}")).component is Component.INSTRUCTION


async def test_hostile_files_are_findings_or_nothing(read: Callable[..., Any]) -> None:
    tests = (
        file_of("\x00\x01"),
        FileEntry.of("/tests/blob.py", b"\xff\xfe\x00"),
        FileEntry.of("/tests/a b\n'.sh", b"\xff curl"),
        file_of("(" * 5_000, "deep.py"),
        file_of("x = " + "-" * 3_000 + "1", "deep2.py"),
    )
    result = await read(tests, dockerfile="FROM\nCOPY\nADD <<E\n\\\n\\", instruction="\x00" * 100)
    assert result.passed is False and "does not parse" in result.evidence


@pytest.mark.parametrize(
    "line",
    [
        "apt-get update && apt-get install -y curl",
        "sudo apt install -y jq",
        "DEBIAN_FRONTEND=noninteractive apt-get -y install jq",
        "pip install pytest==8.4.1",
        "python3 -m pip install --quiet pytest",
        "cd /x && uv pip install pytest",
        "uvx -p 3.13 -w pytest==8.4.1 pytest /tests/test_outputs.py",
        "curl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh",
        "wget \\\n  -q https://x.org/y",
        "git clone --depth 1 https://github.com/a/b",
        "npm ci",
        "x=$(curl -s https://a.example.org/x)",
        "timeout 30 curl -s get.example.org/x",
    ],
)
def test_installing_and_fetching_is_told(line: str) -> None:
    assert len(list(network_commands(f"#!/bin/bash\nset -e\n{line}\n"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "# apt-get install -y curl",
        "echo 'run pip install pytest first'",
        'echo "curl https://x.org failed" >&2',
        "curl -sf http://localhost:8080/health",
        "curl -sf http://127.0.0.1/x | jq .",
        'curl -s "$URL"',
        "git clone /app/repo.git /tmp/x",
        "git -C /app log && git fetch",
        "pip install --no-index --find-links /wheels pytest",
        "pip install /wheels/x.whl",
        "command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh",
        "if ! command -v pytest; then\n  pip install pytest\nfi",
        "cat <<EOF\npip install x\nEOF",
        "cat <<'END-OF-FILE' > a; cat <<-\\E > b\npip install x\nEND-OF-FILE\npip install y\n\tE",
        "python3 -m pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA",
        "uv run --offline pytest",
        "npm test",
        "grep -q pip install.log",
        "pip list; pip show install",
    ],
)
def test_what_only_looks_like_it_is_not(line: str) -> None:
    assert list(network_commands(f"{line}\n")) == []


@pytest.mark.parametrize("before", ["cat <<< word", "n=$((1<<4))", "cat <<EOF", "grep -q x <<<EOF"])
def test_what_is_no_here_document_hides_nothing(before: str) -> None:
    assert list(network_commands(f"{before}\npip install x\n")) == [(2, "pip install x")]


@pytest.mark.parametrize("before", ["RUN cat <<< word", "RUN echo $((1<<4))"])
async def test_what_is_no_here_document_hides_nothing_in_a_dockerfile(read: Callable[..., Any], before: str) -> None:
    result = await read(dockerfile=f"FROM debian:12\n{before}\nADD https://x.org/y /y\n")
    assert result.passed is False and "Dockerfile:3" in result.evidence


def test_lines_are_counted_as_written() -> None:
    script = "#!/bin/bash\n\nif true; then\n  x\nfi\ncat <<E\na\nE\nls \\\n  -l\npip install x\n"
    assert list(network_commands(script)) == [(11, "pip install x")]
