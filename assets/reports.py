"""Reports: what DuckDB says about the store, as tables and plots. The questions stand in facet_dagster/yields."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pandas as pd

from assets.markdown import table
from assets.showing import answer_size, picture
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.comparison import left_out, settings_of
from facet_dagster.datasets.folder import write_whole
from facet_dagster.ports import Store
from facet_dagster.records.terms import Scheme
from facet_dagster.settings import Settings
from facet_dagster.yields import pictures, schemes
from facet_dagster.yields.behaviour import figures_table, top_table, transition_table
from facet_dagster.yields.behaviour_png import details_png, figures_png
from facet_dagster.yields.report import report_html
from facet_dagster.yields.trials import behaviour_of
from facet_dagster.yields.views import is_missing, run_queries

_PER_SEED = [dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping()) for name in ("task", "trajectories")]


@dg.asset(
    deps=["skills", "skill_rejects", "scenario_seeds", *_PER_SEED],
    group_name="reports",
    kinds={"duckdb"},
    description="What every station left over, why seeds were rejected, how many rounds it took.",
)
def yield_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Pictures and tables, drawn anew each time, and all of it as one HTML page beside the tasks."""
    metadata = _page(settings.store, ("funnel", "repairs", "categories", "failures", "tests", "teacher"))
    tables = (
        "paper",
        "funnel",
        "categories",
        "models",
        "repairs",
        "rounds",
        "rejections",
        "kill_rate",
        "tests",
        "teacher",
    )
    return dg.MaterializeResult(metadata={"report": _report(settings), **metadata, **_answers(settings.store, tables)})


@dg.asset(
    deps=_PER_SEED,
    group_name="reports",
    kinds={"duckdb"},
    description="Calls, tokens and money by station and per accepted task.",
)
def cost_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Pictures and tables over the ledger."""
    tables = _answers(settings.store, ("accepted_cost", "cost", "days", "usage", "time", "per_task"))
    return dg.MaterializeResult(metadata={**_page(settings.store, ("cost", "task_cost")), **tables})


@dg.asset(
    deps=_PER_SEED[:1],
    group_name="reports",
    kinds={"duckdb"},
    description="Forward, reverse and joint generation on the same seeds: yields, sign tests, what repairs answered.",
)
def scheme_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """What `facet schemes` has brought about so far."""
    stores = {scheme: settings_of(settings, scheme).store for scheme in Scheme}
    ended = schemes.endings(stores)
    missing = left_out({scheme: ParquetStore(root) for scheme, root in stores.items()})
    sample: dict[str, Any] = {
        "seeds": len(ended),
        "left_out": len(missing),
        "left_out_because": _shown(schemes.reasons(missing)),
    }
    if ended.empty:
        return dg.MaterializeResult(metadata={**sample, **answer_size(ended), "next": "facet schemes"})
    yields = schemes.yields(ended)
    return dg.MaterializeResult(
        metadata={
            **sample,
            **answer_size(yields),
            "picture": picture("yields", schemes.scheme_png(yields)),
            "yields": _shown(yields),
            "sign_tests": _shown(schemes.sign_tests(ended)),
            "repairs": _shown(schemes.faults(stores)),
        }
    )


@dg.asset(
    deps=[*_PER_SEED[1:], "evaluation"],
    group_name="reports",
    kinds={"duckdb"},
    description="How each model works in the terminal: what observes, what acts, what it misses; beside the paper's.",
)
def behaviour_report(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """The statistics over all trials of the store, rollouts and evaluations alike."""
    found = behaviour_of(store)
    figures = figures_table(found).round(3)
    if not found:
        return dg.MaterializeResult(metadata={**answer_size(figures), "trials": 0})
    return dg.MaterializeResult(
        metadata={
            **answer_size(figures),
            "trials": sum(each.trials for each in found if each.outcome == "all"),
            "picture": picture("behaviour", figures_png(found)),
            "details": picture("transitions and commands", details_png(found)),
            "figures": _shown(figures),
            "transitions": _shown(transition_table(found).round(3)),
            "commands": _shown(top_table(found).round(3)),
        }
    )


def _page(store: str, names: Sequence[str]) -> dict[str, Any]:
    drawn = [pictures.picture(name) for name in names]
    answers = run_queries(store, [each.question for each in drawn])
    return {f"picture_{each.name}": picture(each.title, each.png(answers[each.question])) for each in drawn}


def _report(settings: Settings) -> dg.PathMetadataValue:
    file = settings.out / "report.html"
    write_whole(file, report_html(settings.store, settings.store.rstrip("/").rpartition("/")[2]))
    return dg.MetadataValue.path(file)


def _answers(store: str, queries: Sequence[str]) -> dict[str, Any]:
    frames = run_queries(store, queries)
    return {**answer_size(frames[queries[0]]), **{name: _shown(frame) for name, frame in frames.items()}}


def _shown(frame: pd.DataFrame) -> dg.MarkdownMetadataValue:
    rows = (
        ["" if is_missing(value) else f"{value:g}" if isinstance(value, float) else value for value in row]
        for row in frame.itertuples(index=False)
    )
    return table([str(column) for column in frame.columns], rows)
