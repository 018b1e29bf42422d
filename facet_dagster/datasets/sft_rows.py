"""A chosen dialogue as a row, and rows as files: messages in JSONL and Parquet, and ShareGPT."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.datasets.selection import Candidate
from facet_dagster.records.sft import Decision
from facet_dagster.records.skill import Skill

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
        ("turns", pa.int64()),  # of this dialogue, as the tokens that follow
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("recorded", pa.bool_()),
        ("skills", pa.list_(pa.string())),
        ("licences", pa.list_(pa.string())),
        ("loss_mask", pa.list_(pa.bool_())),  # one per message: is it trained on
        ("tokens", pa.int64()),  # of the dialogue, for the student
        ("trial", pa.string()),  # key of the trial in the store, within its seed
        ("lineage", pa.string()),
        ("stop", pa.string()),
        ("context", pa.int64()),  # hand-overs of the trial before this dialogue; above 0 it begins with one
        ("engine", pa.string()),  # whose agent worked: own or harbor
        ("started", pa.int64()),  # of the trial, seconds since 1970: readers of JSON lines guess at ISO times
    ]
)
DECISIONS = pa.schema(
    [
        ("seed", pa.string()),
        ("trial", pa.string()),
        ("task", pa.string()),
        ("model", pa.string()),
        ("attempt", pa.int64()),
        ("split", pa.string()),
        ("rule", pa.string()),
        ("evidence", pa.string()),
        ("context", pa.int64()),
    ]
)
ROW_GROUP = 500  # rows that are put into columns at a time
SPEAKERS = {"user": "human", "assistant": "gpt"}

Row = Mapping[str, Any]


def row_of(candidate: Candidate, skills: Sequence[Skill], tokens: int, *, mask_parse_errors: bool) -> Row:
    """One row of the set, keys as in SCHEMA."""
    trial = candidate.trial
    return {
        "messages": candidate.messages,
        "seed": trial.seed,
        "task": trial.task,
        "bundle": trial.bundle,
        "attempt": trial.attempt,
        "model": trial.model,
        "reward": trial.reward,
        "turns": len(candidate.turns),
        "prompt_tokens": sum(turn.prompt_tokens for turn in candidate.turns),
        "completion_tokens": sum(turn.completion_tokens for turn in candidate.turns),
        "recorded": trial.recorded,
        "skills": [skill.skill_id for skill in skills],
        "licences": [skill.licence for skill in skills],
        "loss_mask": candidate.mask(mask_parse_errors=mask_parse_errors),
        "tokens": tokens,
        "trial": trial.key,
        "lineage": candidate.lineage,
        "stop": trial.stop.value,
        "context": candidate.context,
        "engine": trial.engine,
        "started": int(trial.started_at.timestamp()),
    }


def wholly_trained(row: Row) -> bool:
    """Whether everything that the model wrote is trained on."""
    return all(
        train or message["role"] != "assistant"
        for message, train in zip(row["messages"], row["loss_mask"], strict=True)
    )


def sharegpt(row: Row) -> dict[str, Any]:
    """The same dialogue in ShareGPT's words. The format has no place for a mask: give it rows wholly trained on."""
    return {
        "id": f"{row['seed']}/{row['trial']}" + (f"/context-{row['context']}" if row["context"] else ""),
        "conversations": [{"from": SPEAKERS[m["role"]], "value": m["content"]} for m in row["messages"]],
    }


def jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """The lines of a file, one JSON object each: a set may be larger than what memory holds twice."""
    for row in rows:
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def parquet(rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> bytes:
    """A Parquet file in memory, of a shape that does not depend on the rows."""
    buffer = BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd") as writer:
        for at in range(0, len(rows), ROW_GROUP):
            writer.write_table(pa.Table.from_pylist(list(rows[at : at + ROW_GROUP]), schema=schema))
    return buffer.getvalue()


def decisions_parquet(decisions: Sequence[Decision]) -> bytes:
    """What became of every dialogue that was looked at."""
    return parquet(
        [decision.model_dump(mode="json", include=set(DECISIONS.names)) for decision in decisions], DECISIONS
    )
