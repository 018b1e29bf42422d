"""What a skill needs that a sealed container does not have: services, clouds, browsers, other systems, GPUs, people.

Signs are counted in one pass over the words; the table stands in reach.toml. Does not belong here: the verdict.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facet_dagster.skills.terms import Terms, words_of

BODY_READ = 20_000
"""Characters of the body in which signs are counted; p95 of the public corpus is about that long."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One class of things out of reach.

    `least` signs in the body show that the skill lives on it; `soft`: much local work outweighs it. `name`, `head` and
    `body` are the signs in the name, in name or description, and in the body.
    """

    what: str
    least: int
    soft: bool
    account: bool
    name: frozenset[str]
    head: frozenset[str]
    body: frozenset[str]


@dataclass(frozen=True, slots=True)
class Need:
    """What was found of one class: a sign in the name, one in the description, and how many in the body."""

    kind: Kind
    named: str
    described: str
    times: int
    often: str

    @property
    def lives_on_it(self) -> bool:
        return self.times >= self.kind.least

    def shown(self) -> str:
        """One line of evidence."""
        return f"{self.kind.what}: {self.named or self.described or self.often} ({self.times} signs in the body)"


def needs_of(name: str, description: str, body: str) -> tuple[Need, ...]:
    """The classes with at least one sign, in the order of the table. Pure."""
    in_name, in_description = _TERMS.count(name).keys(), _TERMS.count(description).keys()
    counted = _TERMS.count(body[:BODY_READ])
    found = []
    for kind in _KINDS:
        named, described = in_name & (kind.head | kind.name), in_description & kind.head
        # What the head names counts in the body as well: a skill on a product names it again and again.
        signs = {sign: counted[sign] for sign in kind.body | named | described if sign in counted}
        if named or described or signs:
            often = max(signs, key=lambda sign: (signs[sign], sign), default="")
            found.append(Need(kind, min(named, default=""), min(described, default=""), sum(signs.values()), often))
    return tuple(found)


def _signs(text: str) -> frozenset[str]:
    return frozenset(" ".join(words_of(sign)) for sign in text.split(",") if sign.strip())


def _kind(table: dict[str, Any]) -> Kind:
    signs = (_signs(table.get(place, "")) for place in ("name", "head", "body"))
    return Kind(table["what"], table["least"], table.get("soft", False), table.get("account", False), *signs)


_KINDS = tuple(_kind(table) for table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).values())
_TERMS = Terms(frozenset().union(*(kind.name | kind.head | kind.body for kind in _KINDS)))
