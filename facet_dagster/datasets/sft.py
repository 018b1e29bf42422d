"""Successful trials as a supervised fine-tuning set: messages as JSONL and Parquet, with a dataset card.

The assistant's text stands exactly as the model wrote it. Belongs here: which trials become rows, and the files;
the words of the card stand in `sft_card.md.j2`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined

from facet_dagster.datasets.folder import write_whole
from facet_dagster.records.base import Record
from facet_dagster.records.rollout import Trial
from facet_dagster.records.skill import Skill

CARD = Path(__file__).parent / "sft_card.md.j2"
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
SCHEMA = pa.schema(
    [
        ("messages", pa.list_(MESSAGE)),
        ("seed", pa.string()),
        ("task", pa.string()),
        ("bundle", pa.string()),
        ("attempt", pa.int64()),
        ("model", pa.string()),
        ("reward", pa.float64()),
        ("turns", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("recorded", pa.bool_()),
        ("skills", pa.list_(pa.string())),
        ("licences", pa.list_(pa.string())),
    ]
)


class SftCard(Record):
    """What a set holds and where it lies. `trials` = rows + failures + ungraded + not_clean."""

    trials: int
    rows: int
    failures: int
    ungraded: int
    not_clean: int
    turns: int
    tokens: int
    recorded: bool
    models: tuple[str, ...]
    licences: tuple[str, ...]
    jsonl: Path
    parquet: Path
    readme: Path


def export_sft(
    trials: Sequence[Trial],
    directory: Path,
    *,
    skills: Mapping[str, Sequence[Skill]],
    parse_clean_only: bool = False,
) -> SftCard:
    """Write `train.jsonl`, `train.parquet` and `README.md` from the trials with reward 1, in a fixed order.

    `skills` names the skills behind each seed. `parse_clean_only` leaves out trials with a turn that was not
    understood. Without any success the set is empty but well-formed, and its card says so.
    """
    ordered = sorted(trials, key=lambda t: (t.seed, t.bundle, t.attempt))
    successes = [trial for trial in ordered if trial.success and trial.turns]
    chosen = [trial for trial in successes if not parse_clean_only or _clean(trial)]
    rows = [_row(trial, skills.get(trial.seed, ())) for trial in chosen]
    card = SftCard(
        trials=len(ordered),
        rows=len(rows),
        failures=sum(trial.reward is not None for trial in ordered) - len(successes),
        ungraded=sum(trial.reward is None for trial in ordered),
        not_clean=len(successes) - len(chosen),
        turns=sum(row["turns"] for row in rows),
        tokens=sum(row["completion_tokens"] for row in rows),
        recorded=any(row["recorded"] for row in rows),
        models=_distinct(row["model"] for row in rows),
        licences=_distinct(licence for row in rows for licence in row["licences"]),
        jsonl=directory / "train.jsonl",
        parquet=directory / "train.parquet",
        readme=directory / "README.md",
    )
    write_whole(card.jsonl, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    write_whole(card.parquet, _parquet(rows))
    write_whole(card.readme, _readme(card, chosen, skills, parse_clean_only).encode())
    return card


def messages_of(trial: Trial) -> list[dict[str, str]]:
    """The dialogue as it was held, from the opening to the last thing that the model wrote."""
    pairs = (
        ({"role": "user", "content": turn.prompt}, {"role": "assistant", "content": turn.raw}) for turn in trial.turns
    )
    return [message for pair in pairs for message in pair]


def _row(trial: Trial, skills: Sequence[Skill]) -> dict[str, Any]:
    return {
        "messages": messages_of(trial),
        "seed": trial.seed,
        "task": trial.task,
        "bundle": trial.bundle,
        "attempt": trial.attempt,
        "model": trial.model,
        "reward": trial.reward,
        "turns": len(trial.turns),
        "prompt_tokens": sum(turn.prompt_tokens for turn in trial.turns),
        "completion_tokens": sum(turn.completion_tokens for turn in trial.turns),
        "recorded": trial.recorded,
        "skills": [skill.skill_id for skill in skills],
        "licences": [skill.licence for skill in skills],
    }


def _clean(trial: Trial) -> bool:
    return all(turn.parse_error is None for turn in trial.turns)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    buffer = BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), buffer, compression="zstd")
    return buffer.getvalue()


def _readme(card: SftCard, chosen: Sequence[Trial], skills: Mapping[str, Sequence[Skill]], clean_only: bool) -> str:
    sources = {skill.skill_id: skill for trial in chosen for skill in skills.get(trial.seed, ())}
    variables = {
        "card": card,
        "clean_only": clean_only,
        "stops": sorted(Counter(trial.stop.value for trial in chosen).items()),
        "tasks": sorted(Counter(trial.task for trial in chosen).items()),
        "skills": [sources[skill_id] for skill_id in sorted(sources)],
        "columns": SCHEMA.names,
    }
    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return jinja.from_string(CARD.read_text(encoding="utf-8")).render(**variables)
