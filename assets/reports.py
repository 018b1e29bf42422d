"""Reports: what DuckDB says about the store, as tables and plots. The questions stand in facet_dagster/yields."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import dagster as dg
import pandas as pd

from assets.markdown import table
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.comparison import left_out, settings_of
from facet_dagster.records.terms import Scheme
from facet_dagster.settings import Settings
from facet_dagster.yields import schemes
from facet_dagster.yields.report import yield_png
from facet_dagster.yields.views import run_query

_PER_SEED = [dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping()) for name in ("task", "trajectories")]


@dg.asset(
    deps=["skills", "skill_rejects", "scenario_seeds", *_PER_SEED],
    group_name="reports",
    kinds={"duckdb"},
    description="What every station left over, why seeds were rejected, how many rounds it took.",
)
def yield_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Tables and one picture, drawn anew each time."""
    picture = b64encode(yield_png(settings.store)).decode()
    tables = _answers(settings.store, ("funnel", "rejections", "rounds", "teacher"))
    return dg.MaterializeResult(
        metadata={"picture": dg.MetadataValue.md(f"![yields](data:image/png;base64,{picture})"), **tables}
    )


@dg.asset(
    deps=_PER_SEED,
    group_name="reports",
    kinds={"duckdb"},
    description="Calls, tokens and money by station and per accepted task.",
)
def cost_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult[None]:
    """Tables over the ledger."""
    return dg.MaterializeResult(metadata=_answers(settings.store, ("cost", "per_task")))


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
        return dg.MaterializeResult(metadata={**sample, "next": "facet schemes"})
    yields = schemes.yields(ended)
    picture = b64encode(schemes.scheme_png(yields)).decode()
    return dg.MaterializeResult(
        metadata={
            **sample,
            "picture": dg.MetadataValue.md(f"![yields](data:image/png;base64,{picture})"),
            "yields": _shown(yields),
            "sign_tests": _shown(schemes.sign_tests(ended)),
            "repairs": _shown(schemes.faults(stores)),
        }
    )


def _answers(store: str, queries: Sequence[str]) -> dict[str, Any]:
    return {name: _shown(run_query(store, name)) for name in queries}


def _shown(frame: pd.DataFrame) -> dg.MarkdownMetadataValue:
    rows = (
        ["" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else value for value in row]
        for row in frame.itertuples(index=False)
    )
    return table([str(column) for column in frame.columns], rows)
