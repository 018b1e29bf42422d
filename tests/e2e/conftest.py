"""One run of the whole line on the sample skills with the recorded model, shared by the tests of this folder."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_labels import MAY_BE_OURS, RUN_LABEL, ours
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.testing.accepted import SEED

FACET = str(Path(sys.executable).parent / "facet")
PROFILE = Path(__file__).with_name("profile.toml")
RUN_OF_THE_LINE = re.compile(r"\d{8}T\d{6}-")  # as `facet run` names its runs
ENDPOINT_SETTINGS = ("FACET_LLM_", "FACET_MODEL_", "FACET_PRICE_", "FACET_PROFILE", "FACET_BUDGET_")


@dataclass(frozen=True)
class Place:
    """A store, an output folder and a Dagster instance of their own."""

    root: Path

    @property
    def out(self) -> Path:
        return self.root / "out"

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(ENDPOINT_SETTINGS)}
        own = {"store": "FACET_STORE", "out": "FACET_OUT", "dagster": "FACET_DAGSTER_HOME"}
        places = {name: str(self.root / part) for part, name in own.items()}
        return {**inherited, **places, "FACET_PROFILE": str(PROFILE), **(more or {})}

    def facet(self, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FACET, *arguments], env=self.environment(more), capture_output=True, text=True, check=False
        )

    def store(self) -> ParquetStore:
        return ParquetStore(str(self.root / "store"))

    def endings(self) -> dict[str, tuple[Status, str]]:
        """Seed -> last status and reason."""
        ended = {}
        for seed in self.store().rows(ScenarioSeed):
            rows = self.store().rows(SeedOutcome, seed.seed_id)
            if rows:
                last = max(rows, key=lambda row: row.at)
                ended[seed.seed_id] = (last.status, last.reason.value if last.reason else "")
        return ended

    def history(self) -> dict[str, list[tuple[str, int, str]]]:
        """Seed -> component, round and origin of every version."""
        return {
            seed.seed_id: [
                (v.component.value, v.round, v.origin.value) for v in self.store().rows(ComponentVersion, seed.seed_id)
            ]
            for seed in self.store().rows(ScenarioSeed)
        }

    def calls(self) -> list[str]:
        """Identity of every call that was answered, in order."""
        return sorted(row.call.label() for row in self.store().rows(LedgerRow))


def of_the_line(client: DockerClient) -> list[str]:
    """Containers, networks and images of runs of the line.

    Other tests, which run beside it, have other run ids, or, where they start `facet run` themselves, a seed of theirs.
    """
    api = client.api
    found = [(f"container {row['Names']}", own) for row, own in ours(api.containers(all=True, filters=MAY_BE_OURS))]
    found += [(f"network {row['Name']}", own) for row, own in ours(api.networks(filters=MAY_BE_OURS))]
    found += [(f"image {row['RepoTags']}", own) for row, own in ours(api.images(filters=MAY_BE_OURS))]
    return [
        name
        for name, labels in found
        if RUN_OF_THE_LINE.match(labels.get(RUN_LABEL, "")) and labels.get("facet.seed") != SEED
    ]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, base_image: str) -> Place:
    """The finished demo. What it printed stands in `demo.txt`."""
    place = Place(tmp_path_factory.mktemp("demo"))
    done = place.facet("run")
    (place.root / "demo.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return place
