"""The ready questions: queries/*.sql, each with what it answers and its columns in the comment at its head."""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from facet_dagster.errors import SettingsError

QUERIES = Path(__file__).parent / "queries"
_COLUMNS = "-- Columns"


@dataclass(frozen=True)
class Question:
    """A query: `about` in one or two sentences, `columns` as name -> meaning, in their order."""

    name: str
    about: str
    columns: dict[str, str]
    sql: str


def questions() -> list[Question]:
    """All of them, by name."""
    return [_read(path) for path in sorted(QUERIES.glob("*.sql"))]


def question(name: str) -> Question:
    """One by its name. Raises SettingsError where there is none, naming those there are."""
    known = {each.name: each for each in questions()}
    if name not in known:
        raise SettingsError(f"there is no query {name!r}; known are: {', '.join(known)}")
    return known[name]


def _read(path: Path) -> Question:
    """The head reads: sentences, then "-- Columns", then a line "--   name: meaning" for each of them."""
    sql = path.read_text(encoding="utf-8")
    head = list(takewhile(lambda line: line.startswith("--"), sql.splitlines()))
    split = head.index(_COLUMNS)
    columns = (line.removeprefix("--").strip().partition(": ") for line in head[split + 1 :])
    return Question(
        name=path.stem,
        about=" ".join(line.removeprefix("-- ") for line in head[:split]),
        columns={name: meaning for name, _, meaning in columns},
        sql=sql,
    )
