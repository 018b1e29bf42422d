"""What a front matter says: name, description, licence. Strict YAML first, line by line when that fails.

The YAML is composed into nodes and never constructed into Python objects: a name such as `8004` or `yes` keeps its
text, doubled keys stay visible, and dates or tags cannot break anything. Does not belong here: where the block stands.
"""

import re
from dataclasses import dataclass

import yaml

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal, excerpt

MAX_YAML = 20_000
"""Characters of front matter that are parsed; the largest sensible one in the corpus has a few thousand."""
MIN_DESCRIPTION = 10
SPEC_NAME, SPEC_DESCRIPTION = 64, 1024
"""Limits of the Agent Skills specification, in characters; going over them is noted, not refused."""

_FILLER = re.compile(r"\s*Use when this capability is needed\.?\s*$", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"^\W*(?:todo\b\s*[:\]]|tbd\b|fixme\b|lorem ipsum|placeholder\b|replace (?:this|with)\b|<[^>]*description[^>]*>"
    r"|(?:your|a|the|skill|short|brief)? ?description(?: here| of (?:the|this|your) skill)?\W*$)",
    re.IGNORECASE,
)
_DAMAGED = re.compile(r"^(?:name|description)\s*:", re.IGNORECASE)
_LINE_KEY = re.compile(r"^[\"']?([A-Za-z_][\w.-]*)[\"']?\s*:(?:\s+|$)(.*)$")
_BLOCK_HEADER = re.compile(r"^[>|][+-]?\d?[+-]?(?:\s+|$)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; it bounds the nesting itself
_STRING = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class FrontValues:
    """The keys that are used. `licence` is what the author wrote, empty when nothing was."""

    name: str
    description: str
    licence: str
    notes: tuple[str, ...]


def read_values(block: str) -> FrontValues | Refusal:
    """Read one front matter block. Faults: not a mapping, no usable name, no usable description."""
    notes: list[str] = []
    node: yaml.Node | None = None
    try:
        node = yaml.compose(block[:MAX_YAML], Loader=_LOADER)
    except yaml.YAMLError as error:
        notes.append(f"front matter read line by line: not valid YAML ({_problem(error)})")
    except RecursionError:
        notes.append("front matter read line by line: nested too deeply")
    if isinstance(node, yaml.MappingNode):
        fields = _from_nodes(node, notes)
    else:
        fields = _from_lines(block)
        if not fields:
            kind = "empty" if node is None else _kind(node)
            what = notes[0] if notes else f"front matter is {kind}, not a mapping"
            return Refusal(SkillFault.BAD_FRONT_MATTER, f"{what}: {excerpt(block, 80)}")
        if not notes:
            notes.append("front matter read line by line: not a mapping")
    return _checked(fields, notes)


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "a scalar"
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"


def _problem(error: yaml.YAMLError) -> str:
    return excerpt(str(getattr(error, "problem", None) or "characters that YAML forbids"), 80)


def _from_nodes(mapping: yaml.MappingNode, notes: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for doubled in sorted(set(_doubled_keys(mapping))):
        notes.append(f"doubled key {doubled}: its last value counts")
    for key, value in mapping.value:
        wanted = str(key.value).strip().lower() if isinstance(key, yaml.ScalarNode) else ""
        if wanted not in {"name", "description", "license", "licence"}:
            continue
        if not isinstance(value, yaml.ScalarNode):
            notes.append(f"{wanted} is {_kind(value)}, not text")
            fields[wanted] = ""
        elif value.tag.endswith(":null"):
            fields[wanted] = ""
        else:
            if value.tag != _STRING:
                notes.append(f"{wanted} is not text in YAML ({value.tag.rsplit(':', 1)[-1]}); its spelling is kept")
            fields[wanted] = value.value
    return fields


def _doubled_keys(mapping: yaml.MappingNode) -> list[str]:
    """Keys that stand twice in one mapping, at any depth."""
    doubled: list[str] = []
    visited: set[int] = set()  # an alias can make the tree a graph, even a circle
    waiting: list[yaml.Node] = [mapping]
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            keys = [str(key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            doubled.extend(key for key in set(keys) if keys.count(key) > 1)
            waiting.extend(value for _, value in node.value)
    return doubled


def _from_lines(block: str) -> dict[str, str]:
    """`key: value` at the start of a line, continued until the next such key; the first of a doubled key counts."""
    fields: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block.split("\n"):
        match = _LINE_KEY.match(line)
        if match:
            current = fields.setdefault(match.group(1).lower(), []) if match.group(1).lower() not in fields else []
            current.append(_BLOCK_HEADER.sub("", match.group(2)))
        else:
            current.append(line.strip())
    wanted = {"name", "description", "license", "licence"}
    return {key: " ".join(lines).strip().strip("\"'") for key, lines in fields.items() if key in wanted}


def _checked(fields: dict[str, str], notes: list[str]) -> FrontValues | Refusal:
    name = " ".join(fields.get("name", "").split())
    raw = " ".join(fields.get("description", "").split())
    description = _FILLER.sub("", raw).strip()
    if not name:
        reason = next((note for note in notes if note.startswith("name is")), "the front matter has no name")
        return Refusal(SkillFault.NO_NAME, reason)
    if not description:
        reason = next((note for note in notes if note.startswith("description is a")), "no description")
        return Refusal(SkillFault.NO_DESCRIPTION, f"only filler is left: {excerpt(raw)}" if raw else reason)
    if _PLACEHOLDER.match(description[:300]) or (_DAMAGED.match(description) and description != raw):
        return Refusal(SkillFault.NO_DESCRIPTION, f"a placeholder, not a description: {excerpt(description)}")
    if len(description) < MIN_DESCRIPTION:
        return Refusal(SkillFault.NO_DESCRIPTION, f"too short to say anything: {excerpt(description)}")
    if description != raw:
        notes.append("filler sentence removed from the description")
    if len(name) > SPEC_NAME:
        notes.append(f"name has {len(name)} characters, the specification allows {SPEC_NAME}")
    if len(description) > SPEC_DESCRIPTION:
        notes.append(f"description has {len(description)} characters, the specification allows {SPEC_DESCRIPTION}")
    licence = " ".join((fields.get("license") or fields.get("licence") or "").split())
    return FrontValues(name, description, licence, tuple(notes))
