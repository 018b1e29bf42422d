"""pass@k, intervals over tasks, paired tests: of evaluations and of schemes. Pure; no record of ours is known here.

Tasks are the units: attempts on one task are alike, so they narrow no interval by themselves.
"""

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist, fmean

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000


def pass_at_k(attempts: int, solved: int, k: int) -> float:
    """The chance that at least one of k attempts solves the task, unbiased, from `solved` of `attempts`.

    1 <= k <= attempts; k attempts are drawn without replacement from those made.
    """
    if not 1 <= k <= attempts or not 0 <= solved <= attempts:
        raise ValueError(f"no pass@{k} of {solved} in {attempts}")
    return 1.0 - comb(attempts - solved, k) / comb(attempts, k)


def wilson(mean: float, units: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of the mean of `units` values between 0 and 1.

    Values other than 0 and 1 vary less than it allows for, so it is wide enough for pass rates of several attempts.
    """
    if units < 1 or not 0 <= mean <= 1:
        raise ValueError(f"no interval of {mean} over {units}")
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = (mean + z2 / (2 * units)) / (1 + z2 / units)
    half = sqrt(z2 * (mean * (1 - mean) / units + z2 / (4 * units**2))) / (1 + z2 / units)
    return max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


def bootstrap(differences: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Percentile interval of the mean of paired differences, tasks drawn with replacement. The same each time."""
    if not differences:
        raise ValueError("no interval of nothing")
    values = np.asarray(differences, dtype=float)
    drawn = np.random.default_rng(0).multinomial(len(values), np.full(len(values), 1 / len(values)), RESAMPLES)
    low, high = np.quantile(drawn @ values / len(values), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(min(low, fmean(differences))), float(max(high, fmean(differences)))


def sign_test(better: int, worse: int) -> float:
    """Exact two-sided p of a sign test (of one attempt per task: McNemar's exact test). 1 where nothing differs."""
    from scipy.stats import binomtest  # 50 MB, in every process of a run if it stood above

    return float(binomtest(better, better + worse, 0.5).pvalue) if better + worse else 1.0
