"""The card of an SFT set: sources, what was removed, statistics, limits. Its words stand in sft_card.md.j2."""

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined

from facet_dagster.datasets.sft_rows import SCHEMA, Row, wholly_trained
from facet_dagster.records.sft import Rule, SftSet, Split
from facet_dagster.records.skill import Skill

CARD = Path(__file__).parent / "sft_card.md.j2"
SHOWN = 10
"""Overlaps with benchmarks that the card quotes; selection.parquet has them all."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")


def readme(made: SftSet, rows: Sequence[Row], sides: Mapping[str, Split], skills: Mapping[str, Sequence[Skill]]) -> str:
    """The card as Markdown with YAML on top, as dataset hubs read it."""
    sources = {skill.skill_id: skill for row in rows for skill in skills.get(row["seed"], ())}
    sided = {(sides[row["seed"]], skill) for row in rows for skill in row["skills"]}
    shared = [skill for side, skill in sorted(sided) if side == "train" and ("validation", skill) in sided]
    started = sorted(row["started"] for row in rows)
    days = sorted({f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in (started[:1] + started[-1:])})
    overlaps = [decision for decision in made.decisions if decision.rule is Rule.CONTAMINATED]
    variables = {
        "card": made,
        "trials": len({(row["seed"], row["trial"]) for row in rows}),
        "terms": made.terms,
        "benchmarks": [place.name for place in made.terms.benchmarks],
        "overlaps": overlaps[:SHOWN],
        "overlaps_left": max(0, len(overlaps) - SHOWN),
        "shared_skills": shared,
        "size": SIZE_NAMES[bisect_right(SIZES, made.rows)],
        "groups": len({row["seed" if made.terms.split_by == "seed" else "lineage"] for row in rows}),
        "days": days,
        "engines": sorted(Counter(row["engine"] for row in rows).items()),
        "partly_masked": sum(not wholly_trained(row) for row in rows),
        "unlicensed": sum("unknown" in row["licences"] for row in rows),
        "unsourced": sum(not row["skills"] for row in rows),
        "figures": [(name, _figures([row[key] for row in rows])) for name, key in _MEASURED if rows],
        "stops": sorted(Counter(row["stop"] for row in rows).items()),
        "tasks": sorted(Counter((row["task"], sides[row["seed"]]) for row in rows).items()),
        "of_model": sorted(Counter(row["model"] for row in rows).items()),
        "skills": [sources[skill_id] for skill_id in sorted(sources)],
        "columns": SCHEMA.names,
    }
    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    jinja.filters["cell"] = _cell
    return jinja.from_string(CARD.read_text(encoding="utf-8")).render(**variables)


_MEASURED = (
    ("turns", "turns"),
    ("tokens of the dialogue", "tokens"),
    ("tokens written by the model", "completion_tokens"),
)


def _cell(value: object) -> str:
    """One line that no table is broken by."""
    return " ".join(str(value).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _figures(values: Sequence[int]) -> tuple[str, ...]:
    """Smallest, median, mean, 95th percentile, largest."""
    cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]]
    figures = (min(values), statistics.median(values), statistics.fmean(values), cuts[-1], max(values))
    return tuple(f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}" for figure in figures)
