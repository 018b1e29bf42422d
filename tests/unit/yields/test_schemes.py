"""The scheme report: pairing by seed, exact sign tests, and a picture."""

from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.terms import Scheme
from facet_dagster.yields.schemes import endings, faults, scheme_png, sign_tests, yields


def outcome(seed: str, status: Status, first: bool = False) -> SeedOutcome:
    return SeedOutcome(
        seed=seed, sequence=5, status=status, first_pass=first, rounds=0 if first else 2, run_id="r", at=now()
    )


@pytest.fixture
def stores(tmp_path: Path) -> dict[Scheme, str]:
    roots = {scheme: str(tmp_path / scheme.value) for scheme in Scheme}
    for scheme, root in roots.items():
        store, suffix = ParquetStore(root), "" if scheme is Scheme.FORWARD else f"-{scheme.value}"
        for number in range(6):
            good = scheme is Scheme.FORWARD or number == 0
            store.put(outcome(f"s{number}{suffix}", Status.ACCEPTED if good else Status.REJECTED, first=good))
    ParquetStore(roots[Scheme.FORWARD]).put(outcome("only-forward", Status.ACCEPTED, first=True))
    ParquetStore(roots[Scheme.JOINT]).put(outcome("s5-joint", Status.PENDING))
    return roots


def test_only_seeds_that_ended_under_every_scheme_count(stores: dict[Scheme, str]) -> None:
    ended = endings(stores)
    assert sorted(ended.index) == ["s0", "s1", "s2", "s3", "s4"]
    table = yields(ended).set_index("scheme")
    assert table.loc["forward", ["seeds", "first_pass", "final_percent"]].tolist() == [5, 5, 100.0]
    assert table.loc["reverse", ["first_pass", "final_percent"]].tolist() == [1, 20.0]


def test_a_first_pass_that_newer_gates_refused_is_none(tmp_path: Path) -> None:
    roots = {scheme: str(tmp_path / scheme.value) for scheme in Scheme}
    for scheme, root in roots.items():
        store, name = ParquetStore(root), "s" if scheme is Scheme.FORWARD else f"s-{scheme.value}"
        store.put(outcome(name, Status.ACCEPTED, first=True))
        store.put(outcome(name, Status.ACCEPTED).model_copy(update={"sequence": 9}))
    assert yields(endings(roots))["first_pass"].tolist() == [0, 0, 0]


def test_the_sign_test_is_exact_and_over_the_differing_seeds(stores: dict[Scheme, str]) -> None:
    tests = sign_tests(endings(stores)).set_index(["scheme", "against", "measure"])
    row = tests.loc[("forward", "reverse", "accepted")]
    assert (row["better"], row["worse"], row["same"]) == (4, 0, 1)
    assert row["p"] == pytest.approx(2 * 0.5**4)
    assert tests.loc[("reverse", "joint", "accepted")]["p"] == 1.0


def test_the_report_of_nothing_and_its_picture(tmp_path: Path, stores: dict[Scheme, str]) -> None:
    nothing = {scheme: str(tmp_path / f"no-{scheme.value}") for scheme in Scheme}
    assert endings(nothing).empty and faults(nothing).empty
    assert scheme_png(yields(endings(stores))).startswith(b"\x89PNG")
