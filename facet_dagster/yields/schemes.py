"""The scheme report: first-pass and final yields of forward, reverse and joint on the same seeds, paired.

The paper's ablation (100 shared seeds): first pass 46.5 / 24.2 / 37.5 %, final 83 / 63 / 65 %.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from facet_dagster.drawing import png_of
from facet_dagster.records.terms import Scheme
from facet_dagster.statistics import sign_test
from facet_dagster.yields.views import run_sql

ENDED = """
SELECT seed, arg_max(status, "at") AS status, arg_max(first_pass, "at") AS first_pass, arg_max(rounds, "at") AS rounds
FROM outcomes GROUP BY seed
"""
FAULTS = """
SELECT json_extract_string(record, '$.diagnosis.component') AS component,
       json_extract_string(record, '$.diagnosis.reason') AS reason, count(*) AS repairs
FROM components WHERE json_extract_string(record, '$.diagnosis.reason') IS NOT NULL
GROUP BY ALL ORDER BY repairs DESC, component, reason
"""


def endings(stores: Mapping[Scheme, str]) -> pd.DataFrame:
    """One row per seed that ended under every scheme: columns (scheme, first_pass | accepted | rounds)."""
    frames = []
    for scheme, store in stores.items():
        frame = run_sql(store, ENDED)
        frame = frame[frame["status"] != "pending"]
        suffix = f"-{scheme.value}"
        frame["seed"] = [name.removesuffix(suffix) for name in frame["seed"]]
        frame["accepted"] = frame["status"] == "accepted"
        frame["first_pass"] = frame["first_pass"] & frame["accepted"]
        frames.append(frame.set_index("seed")[["first_pass", "accepted", "rounds"]])
    return pd.concat(frames, axis=1, join="inner", keys=[scheme.value for scheme in stores])


def yields(ended: pd.DataFrame) -> pd.DataFrame:
    """Per scheme: seeds, first-pass valid and finally accepted, in numbers and per cent, and mean repair rounds."""
    rows = []
    for scheme in ended.columns.unique(0):
        one, seeds = ended[scheme], len(ended)
        first, final = int(one["first_pass"].sum()), int(one["accepted"].sum())
        shares = [round(100 * n / seeds, 1) if seeds else None for n in (first, final)]
        rows.append((scheme, seeds, first, shares[0], final, shares[1], one["rounds"].mean()))
    columns = ["scheme", "seeds", "first_pass", "first_pass_percent", "final", "final_percent", "mean_rounds"]
    return pd.DataFrame(rows, columns=columns)


def sign_tests(ended: pd.DataFrame) -> pd.DataFrame:
    """Exact two-sided sign test of each pair of schemes over the seeds on which they differ."""
    rows = []
    for one, other in combinations(ended.columns.unique(0), 2):
        for measure in ("first_pass", "accepted"):
            better = int((ended[one][measure] & ~ended[other][measure]).sum())
            worse = int((~ended[one][measure] & ended[other][measure]).sum())
            same = len(ended) - better - worse
            rows.append((one, other, measure, better, worse, same, sign_test(better, worse)))
    return pd.DataFrame(rows, columns=["scheme", "against", "measure", "better", "worse", "same", "p"])


def reasons(left_out: Mapping[str, str]) -> pd.DataFrame:
    """How many seeds are not compared, by the reason."""
    counted = Counter(left_out.values()).most_common()
    return pd.DataFrame(counted, columns=["left_out_because", "seeds"])


def faults(stores: Mapping[Scheme, str]) -> pd.DataFrame:
    """What repair rounds answered, by scheme, component and reason."""
    frames = [run_sql(store, FAULTS).assign(scheme=scheme.value) for scheme, store in stores.items()]
    return pd.concat(frames)[["scheme", "component", "reason", "repairs"]].reset_index(drop=True)


def scheme_png(table: pd.DataFrame) -> bytes:
    """First-pass and final yields side by side, as PNG."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    places = range(len(table))
    for shift, measure, colour in ((-0.2, "first_pass", "#4c78a8"), (0.2, "final", "#54a24b")):
        bars = axes.bar([place + shift for place in places], table[f"{measure}_percent"], 0.38, color=colour)
        counts = zip(table[measure], table["seeds"], strict=True)
        axes.bar_label(bars, labels=[f"{n} of {seeds}" for n, seeds in counts])
        bars.set_label("first pass" if measure == "first_pass" else "after repairs")
    axes.set_xticks(list(places), table["scheme"].tolist())
    axes.set_ylim(0, 115)
    axes.set_ylabel("valid seeds, per cent")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure, dpi=110)
