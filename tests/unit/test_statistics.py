"""The numbers against brute force: pass@k by enumeration, intervals by simulation, the sign test by counting."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from facet_dagster.statistics import bootstrap, pass_at_k, sign_test, wilson

COUNTS = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(COUNTS)
def test_pass_at_k_is_the_share_of_all_draws_that_hold_a_success(counts: tuple[int, int, int]) -> None:
    attempts, solved, k = counts
    draws = list(combinations([True] * solved + [False] * (attempts - solved), k))
    assert pass_at_k(attempts, solved, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@given(COUNTS)
def test_pass_at_one_is_the_pass_rate_and_more_tries_never_hurt(counts: tuple[int, int, int]) -> None:
    attempts, solved, k = counts
    assert pass_at_k(attempts, solved, 1) == pytest.approx(solved / attempts)
    assert all(pass_at_k(attempts, solved, more) >= pass_at_k(attempts, solved, k) for more in range(k, attempts + 1))


def test_pass_at_k_is_unbiased() -> None:
    """Its mean over all outcomes of n attempts is what k attempts really reach."""
    for n, k, p in ((5, 3, 0.3), (4, 2, 0.8), (3, 3, 0.1)):
        mean = sum(comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1))
        assert mean == pytest.approx(1 - (1 - p) ** k)


@pytest.mark.parametrize("senseless", [(3, 1, 4), (3, 4, 1), (3, 1, 0), (0, 0, 1)])
def test_senseless_counts_are_refused(senseless: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="no pass@"):
        pass_at_k(*senseless)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_wilson_is_scipys_where_every_task_is_won_or_lost(counts: tuple[int, int]) -> None:
    units, won = counts
    theirs = binomtest(won, units).proportion_ci(0.95, method="wilson")
    assert wilson(won / units, units) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.floats(0, 1), st.integers(1, 1000))
def test_an_interval_holds_its_estimate_and_stays_between_0_and_1(mean: float, units: int) -> None:
    low, high = wilson(mean, units)
    assert 0 <= low <= mean <= high <= 1 and low < high


@pytest.mark.parametrize(("mean", "units"), [(0.5, 0), (1.1, 3), (-0.1, 3)])
def test_no_interval_of_nothing(mean: float, units: int) -> None:
    with pytest.raises(ValueError, match="no interval"):
        wilson(mean, units)


@pytest.mark.parametrize(("tasks", "attempts"), [(10, 3), (30, 3), (100, 1)])
def test_wilson_over_tasks_covers_the_truth(tasks: int, attempts: int) -> None:
    """Tasks of differing difficulty, some attempts each: the interval misses the mean difficulty at most 1 in 20."""
    random = np.random.default_rng(1)
    held = []
    for _ in range(2_000):
        difficulty = random.beta(0.6, 0.9, size=tasks)  # of mean 0.4
        rate = float(random.binomial(attempts, difficulty).mean() / attempts)
        low, high = wilson(rate, tasks)
        held.append(low <= 0.4 <= high)
    assert np.mean(held) >= 0.94


def test_bootstrap_covers_the_truth() -> None:
    random = np.random.default_rng(2)
    held = []
    for _ in range(100):
        low, high = bootstrap(list(random.normal(0.1, 0.3, size=40)))
        held.append(low <= 0.1 <= high)
    assert np.mean(held) >= 0.90


@settings(max_examples=30)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_bootstrap_holds_the_mean_and_says_the_same_twice(differences: list[float]) -> None:
    low, high = bootstrap(differences)
    assert low <= np.mean(differences) + 1e-12 and high >= np.mean(differences) - 1e-12
    assert min(differences) - 1e-9 <= low and high <= max(differences) + 1e-9
    assert bootstrap(differences) == (low, high)


def test_no_bootstrap_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        bootstrap([])


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_sign_test_is_the_share_of_coin_throws_as_extreme(better: int, worse: int) -> None:
    n, distance = better + worse, abs(better - worse)
    throws = sum(comb(n, heads) for heads in range(n + 1) if abs(heads - (n - heads)) >= distance)
    assert sign_test(better, worse) == pytest.approx(throws / 2**n if n else 1.0)
    assert sign_test(better, worse) == pytest.approx(sign_test(worse, better))
