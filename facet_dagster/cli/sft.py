"""`facet sft [OUT]`: the SFT set made anew from the store, and the funnel of its selection. No engine, no model."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.plain import plain
from facet_dagster.results import make_sft_set
from facet_dagster.settings import Settings


def make_set(settings: Settings, console: Console, out: Path | None) -> None:
    """Write the set and print the funnel and where it lies."""
    card = make_sft_set(ParquetStore(settings.store), out or settings.out / "sft", settings.sft)
    shown = Table("rule", "asked", "removed", "left")
    for step in card.funnel:
        shown.add_row(step.rule.value, plain(step.asked), str(step.removed), str(step.left))
    console.print(shown)
    console.print(
        f"{card.trials} trial(s), {card.dialogues} dialogue(s) -> {card.train} row(s) for training, "
        f"{card.validation} for validation, {card.tokens:,} tokens "
        f"(counted by: {card.counted_by})\n{card.readme.parent}",
        highlight=False,
        markup=False,
    )
