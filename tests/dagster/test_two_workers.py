"""Two worker processes on one store and one Postgres: nothing is made twice, nothing is lost, one seed is one walk."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from facet_dagster.adapters.docker_daemon import apt_install, can_install
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.definitions import open_instance, register
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.testing.accepted import version_of
from facet_dagster.testing.examples import a_scenario

pytestmark = pytest.mark.filterwarnings("ignore:Found version mismatch")

WORKER = Path(__file__).with_name("one_worker.py")
CALLS = 5  # manifest, materials, instruction, solution, verifier
SHARED = "seed-shared"
MINE, YOURS = ["seed-1", "seed-2"], ["seed-3", "seed-4"]
ALL = [*MINE, SHARED, *YOURS]  # each worker's seeds stand together, which makes one run of them
HOME = """\
telemetry: {{enabled: false}}
storage:
  postgres:
    postgres_url: "{url}"
compute_logs: {{module: dagster._core.storage.noop_compute_log_manager, class: NoOpComputeLogManager}}
"""


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found and can_install():
        apt_install("postgresql")
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    elif not found and shutil.which("pg_ctl"):
        found = [Path(str(shutil.which("pg_ctl")))]
    if not found:
        pytest.skip("no PostgreSQL server is installed, and none may be installed here")
    return found[-1].parent


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a server of this test alone, on a socket in a folder that goes with it."""
    programs, user = _programs(), ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="facet-pg-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        if user:
            shutil.chown(folder, "postgres")
        quick = f"-F -k {folder} -c listen_addresses="

        def run(program: str, *arguments: str) -> None:
            command = [*user, str(programs / program), "-D", str(data), *arguments]
            done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 0, done.stderr

        run("initdb", "-A", "trust", "-U", "dagster", "--no-sync")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", quick, "start")
        try:
            yield f"postgresql+psycopg2://dagster@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


def put_seeds(store: ParquetStore) -> None:
    """Seeds whose scenario stands, so that a worker's walk begins with the environment."""
    said = dict.fromkeys(("source", "path", "content_hash", "name", "description", "body"), "s")
    store.put(Skill(skill_id="s-1", licence="MIT", **said))
    for seed in ALL:
        store.put(ScenarioSeed(seed_id=seed, title=seed, skill_ids=("s-1",), hypothesis_ids=(), rationale=""))
        scenario = a_scenario(skill_ids=("s-1",))
        store.put(version_of(Component.SCENARIO, scenario, seed=seed))


def results(workers: list["subprocess.Popen[str]"]) -> list[dict[str, Any]]:
    said = [worker.communicate(timeout=300) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    return [json.loads(out.splitlines()[-1]) for out, _ in said]


def test_two_workers_share_a_store_and_an_instance(postgres: str, tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "store"
    home.mkdir()
    (home / "dagster.yaml").write_text(HOME.format(url=postgres))
    put_seeds(ParquetStore(str(root)))
    with open_instance(home) as instance:
        register(ALL, instance)
        workers = [
            subprocess.Popen(
                [sys.executable, str(WORKER), str(home), str(root), str(tmp_path / "out"), run, SHARED, *seeds],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for run, seeds in (("run-a", MINE), ("run-b", YOURS))
        ]
        ended = results(workers)
        made = instance.get_materialized_partitions(dg.AssetKey("task"))
    store = ParquetStore(str(root))
    last = {seed: max(store.rows(SeedOutcome, seed), key=lambda row: row.at).status for seed in ALL}
    assert last == dict.fromkeys(ALL, Status.ACCEPTED), ended
    assert made == set(ALL)
    for seeds, run in ((MINE, "run-a"), (YOURS, "run-b")):
        for seed in seeds:
            versions = store.rows(ComponentVersion, seed)
            assert [(v.component, v.sequence) for v in versions] == [(c, n) for n, c in enumerate(Component)]
            assert {v.run_id for v in versions[1:]} == {run}
    assert [v.component for v in store.rows(ComponentVersion, SHARED)] == list(Component)
    calls = Counter(row.subject for row in store.rows(LedgerRow))
    assert calls == dict.fromkeys(ALL, CALLS)
    # On the seed that both were given, a call may have been under way twice; on the others, never.
    assert 5 * CALLS <= sum(each["calls"] for each in ended) <= 6 * CALLS
    tasks = sorted(path.name for path in (tmp_path / "out" / "tasks").iterdir() if path.is_dir())
    assert len(tasks) == len(ALL), tasks
