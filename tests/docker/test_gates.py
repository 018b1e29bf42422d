"""The gates on a real engine: a good task passes within its starts, a faulty one fails at its gate, nothing stays."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.environment.observe import difference, observe
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.container import Command, ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import Probe
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.scenario import Requirement
from facet_dagster.records.validation import ControlKind, Gate, ValidationReport
from facet_dagster.validation.candidate import Candidate, Contract
from facet_dagster.validation.counting import CountingSandbox
from facet_dagster.validation.kit import contents_of_tests
from facet_dagster.validation.validate import CHECKS, validate

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mb=256, pids=64)
ORDERS = "id,region,amount\n" + "".join(f"{n},{'north' if n % 2 else 'south'},{n * 10}\n" for n in range(1, 9))
SETUP = f"""\
mkdir -p data bin && printf '%s' '{ORDERS}' > data/orders.csv
printf 'mode = draft\\nlimit = 40\\n' > settings.ini
printf '#!/bin/sh\\necho broken\\n' > bin/total.sh && chmod 755 bin/total.sh
echo old > stale.txt
git init -q -b main repo && cd repo && git config user.email a@example.org && git config user.name a
echo one > a && git add a && git commit -qm one
"""
INSTRUCTION = """\
Write the totals of `/app/data/orders.csv` per region to `/app/totals.csv` (header `region,total`, sorted) and the
number of orders to `/app/out dir/it's.json` as {"orders": N}. In `/app/settings.ini` set mode to final. Mend
`/app/bin/total.sh`: it prints the sum of all amounts. Keep the totals in the table `totals` of `/app/totals.db` too.
Remove `/app/stale.txt`. Commit a file `b` with the line `two` to the git repository in /app/repo, and pack data to
`/app/data.tar.gz`.
"""
SOLVE = r"""#!/bin/bash
set -e
awk -F, 'NR>1 {t[$2]+=$3} END {for (r in t) print r "," t[r]}' data/orders.csv | sort > sorted
sed '1i region,total' sorted > totals.csv && rm sorted
mkdir -p "out dir"; echo '{"orders": 8}' > "out dir/it's.json"
sed -i 's/draft/final/' settings.ini
printf '#!/bin/sh\nawk -F, "NR>1 {s+=\\$3} END {print s}" /app/data/orders.csv\n' > bin/total.sh
sqlite3 totals.db "create table totals(region text primary key, total int)"
sqlite3 totals.db "insert into totals values('north',160),('south',200)"
rm stale.txt
cd repo && echo two > b && git add b && git commit -qm two
cd .. && tar -czf data.tar.gz data
"""
TESTS = r"""import json
import sqlite3
import tarfile
from pathlib import Path

from support import E0, run_as_agent

APP = Path("/app")


def test_r1_totals():
    assert (APP / "totals.csv").read_text() == "region,total\nnorth,160\nsouth,200\n"
    rows = sqlite3.connect("file:/app/totals.db?mode=ro", uri=True).execute("select * from totals order by region")
    assert rows.fetchall() == [("north", 160), ("south", 200)]


def test_r2_orders():
    assert json.loads((APP / "out dir" / "it's.json").read_text()) == {"orders": 8}


def test_r3_settings():
    before = (E0 / "app/settings.ini").read_text()
    assert (APP / "settings.ini").read_text() == before.replace("draft", "final")
    assert not (APP / "stale.txt").exists()


def test_r4_program():
    done = run_as_agent(["/app/bin/total.sh"])
    assert (done.returncode, done.stdout.strip()) == (0, "360")


def test_r5_repository_and_archive():
    log = run_as_agent(["git", "-C", "/app/repo", "log", "--format=%s"])
    assert log.stdout.split() == ["two", "one"]
    assert [(APP / "repo" / name).read_text() for name in "ab"] == ["one\n", "two\n"]
    with tarfile.open(APP / "data.tar.gz") as archive:
        assert archive.extractfile("data/orders.csv").read() == (APP / "data/orders.csv").read_bytes()
"""
CLAUSES = {
    "R1": "Write the totals of",
    "R2": "the number of orders to",
    "R3": "set mode to final",
    "R4": "it prints the sum of all amounts",
    "R5": "Commit a file `b`",
}
NAMES = tuple(
    f"test_r{n}_{w}" for n, w in enumerate(("totals", "orders", "settings", "program", "repository_and_archive"), 1)
)


@pytest.fixture
async def sandbox(
    engine: DockerClient, run_id: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[CountingSandbox]:
    yield CountingSandbox(DockerSandbox(engine, run_id=run_id))
    assert_nothing_left(engine, run_id)


@pytest.fixture
async def e0_image(sandbox: CountingSandbox, base_image: str) -> AsyncIterator[str]:
    """The initial state, made once per test by the agent's user."""
    async with sandbox.open(ContainerSpec(image=base_image, seed="g", purpose="test", limits=LIMITS)) as container:
        made = await container.run(Command(script=SETUP))
        assert made.ok, made.output
        image = await container.freeze()
    sandbox.starts = 0
    yield image
    await sandbox.discard(image)


def verifier(tests: str = TESTS) -> Verifier:
    copies = (FileEntry(path="/app/settings.ini", content="mode = draft\nlimit = 40\n"),)
    return Verifier(test_file=tests, e0_copies=copies, tests=NAMES)


@pytest.fixture
def task(e0_image: str) -> Candidate:
    requirements = tuple(Requirement(id=id, text=words, observable="") for id, words in CLAUSES.items())
    return Candidate(
        name="g",
        image=e0_image,
        dockerfile="ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n",
        context=(),
        instruction=INSTRUCTION,
        solution=(FileEntry(path="/solution/solve.sh", content=SOLVE),),
        tests=contents_of_tests(verifier()),
        limits=LIMITS,
        solve_timeout_s=30,
        grade_timeout_s=60,
        contract=Contract(requirements, CLAUSES, verifier().requirement_table()),
        probes=(Probe(id="P1", description="orders are there", command=Command(script="test -s data/orders.csv")),),
    )


async def judged(
    task: Candidate, sandbox: DockerSandbox, *gates: Gate, repeats: int = 1, k: int = 8
) -> ValidationReport:
    return await validate(
        task,
        bundle="b",
        sandbox=sandbox,
        repeats=repeats,
        controls_max=k,
        observe=observe,
        difference=difference,
        gates=gates or tuple(CHECKS),
    )


async def test_a_good_task_passes_every_gate_within_its_starts(task: Candidate, sandbox: CountingSandbox) -> None:
    report = await judged(task, sandbox, repeats=2)
    assert report.verdict is True, report.gates[-1].evidence
    assert [gate.gate for gate in report.gates] == [gate for gate in CHECKS if gate is not Gate.ALTERNATIVE]
    assert report.kill_rate == 1.0 and len(report.controls) == 8
    assert len({control.path for control in report.controls}) == 8
    assert sandbox.starts <= 25


@pytest.mark.audit
async def test_every_control_of_every_output_is_refused(task: Candidate, sandbox: CountingSandbox) -> None:
    report = await judged(task, sandbox, Gate.ORACLE, Gate.CONTROLS, k=60)
    assert report.verdict is True, report.gates[-1].evidence
    assert [c for c in report.controls if c.note or not c.killed] == []
    missing = set(ControlKind) - {control.kind for control in report.controls}
    assert missing == {ControlKind.HEADER_ONLY}  # of three lines, the first half is the header


IDLE = "\n".join(
    f"def {name}():\n    assert open('/app/data/orders.csv').readline() == 'id,region,amount\\n'" for name in NAMES
)
WEAK = TESTS.replace(' == "region,total\\nnorth,160\\nsouth,200\\n"', '.startswith("region,total\\nnorth,1")')
AS_ROOT = TESTS.replace("import json\n", "import json\nimport subprocess\n").replace(
    'run_as_agent(["/app/bin/total.sh"])', 'subprocess.run("/app/bin/total.sh", capture_output=True, text=True)'
)


@pytest.mark.parametrize(
    ("tests", "gate", "reason", "said"),
    [
        (f"{TESTS}\nimport numpy\n", Gate.STATIC, Reason.STATIC_FAULT, "test_outputs.py:"),
        (IDLE, Gate.NOOP, Reason.NOOP_PASSED, "although nothing was done"),
        (TESTS.replace("== 8", "== 9").replace(": 8}", ": 9}"), Gate.ORACLE, Reason.ORACLE_FAILED, "test_r2_orders"),
        (WEAK, Gate.CONTROLS, Reason.CONTROL_SURVIVED, "/app/totals.csv (one value changed)"),
        (AS_ROOT, Gate.TAMPERING, Reason.TAMPERED, "programs that are there"),
    ],
    ids=["static", "noop", "oracle", "controls", "tampering"],
)
async def test_tests_that_are_made_to_break_a_gate_fail_there(
    task: Candidate, sandbox: CountingSandbox, tests: str, gate: Gate, reason: Reason, said: str
) -> None:
    report = await judged(replace(task, tests=contents_of_tests(verifier(tests))), sandbox)
    failed = report.failed_gate()
    assert failed is not None and report.verdict is False
    assert (failed.gate, failed.reason) == (gate, reason), failed.evidence
    assert said in failed.evidence


async def test_a_probe_and_a_clause_that_do_not_hold(task: Candidate, sandbox: CountingSandbox) -> None:
    probe = Probe(id="P2", description="nothing is missing", command=Command(script="ls /app/nowhere"))
    failed = (await judged(replace(task, probes=(probe,)), sandbox)).failed_gate()
    assert failed is not None
    assert (failed.gate, failed.component) == (Gate.BUILD, Component.ENVIRONMENT)
    assert task.contract is not None
    contract = replace(task.contract, clauses={**CLAUSES, "R5": "never said"})
    failed = (await judged(replace(task, contract=contract), sandbox, Gate.CONTRACT)).failed_gate()
    assert failed is not None
    assert (failed.gate, failed.component) == (Gate.CONTRACT, Component.INSTRUCTION)


CHECK = "test -f out.txt && grep -qx 42 out.txt"
PYTEST = "from pathlib import Path\ndef test_a():\n    assert Path('/app/out.txt').read_text().strip() == '42'\n"
REWARD = "if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


@pytest.mark.parametrize(
    ("script", "user", "caught"),
    [
        (f"#!/bin/bash\n{CHECK}\n{REWARD}", "agent", False),
        (
            f"#!/bin/bash\ncd /tests && /usr/bin/python3 -I -m pytest -p no:cacheprovider -q test_a.py\n{REWARD}",
            "agent",
            False,
        ),
        (f"#!/bin/bash\npython3 -m pytest -q /tests/test_a.py\n{REWARD}", "agent", "modules"),
        (
            "#!/bin/bash\ncd /app && cp /tests/test_a.py .\n"
            f"/usr/bin/python3 -I -m pytest -p no:cacheprovider -q test_a.py | grep -q '1 passed'\n{REWARD}",
            "agent",
            "modules",
        ),
        (
            f"#!/bin/bash\nexport PATH=$HOME/bin:/home/agent/.local/bin:$PATH\npytest -q /tests/test_a.py\n{REWARD}",
            "agent",
            "programs",
        ),
        # Cheats of an agent that is root have its folder only: they cannot replace programs on PATH.
        (f"#!/bin/bash\npytest -q /tests/test_a.py\n{REWARD}", "root", False),
        (f"#!/bin/bash\nexport PATH=/app:$PATH\npytest -q /tests/test_a.py\n{REWARD}", "root", "programs"),
        (
            "#!/bin/bash\n. /home/agent/.profile; echo ${REWARD:-0} > /logs/verifier/reward.txt\n"
            "cp /home/agent/logs/verifier/reward.txt /logs/verifier/ || echo 0 > /logs/verifier/reward.txt\n",
            "agent",
            "rewards",
        ),
        (f"#!/bin/bash\ndiff -q /tests/expected_out.txt /app/out.txt\n{REWARD}", "agent", "rewards"),
    ],
    ids=[
        "plain",
        "careful-pytest",
        "modules-in-cwd",
        "conftest-beside-the-work",
        "agents-path",
        "root",
        "roots-folder",
        "agents-reward",
        "link-into-tests",
    ],
)
@pytest.mark.audit
async def test_cheats_against_tests_of_others(
    task: Candidate, sandbox: CountingSandbox, script: str, user: str, caught: str | bool
) -> None:
    tests = (
        FileEntry(path="/tests/test.sh", content=script),
        FileEntry(path="/tests/test_a.py", content=PYTEST),
        *([FileEntry(path="/tests/expected_out.txt", content="42\n")] if "expected_out" in script else []),
    )
    foreign = replace(task, tests=tests, user=user, instruction="Write 42 to /app/out.txt.", contract=None)
    report = await judged(foreign, sandbox, Gate.NOOP, Gate.TAMPERING)
    assert report.gates[0].passed is True, report.gates[0].evidence
    rewarded = [result.name for result in report.tampering if result.report.reward == 1.0]
    assert (caught in rewarded) if caught else rewarded == []
    assert report.gates[1].passed is not bool(caught)
