"""One text through all the rules: bytes and siblings in, a normalised skill or a refusal out. Pure.

Holds the order of the rules. Does not belong here: any single rule (decode, front_matter, screen, access, language,
actionable, shape), where the text came from, and what it is a duplicate of.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill, SkillFault
from facet_dagster.skills.access import screen_access
from facet_dagster.skills.actionable import Actionability, judge_by_rules
from facet_dagster.skills.decode import decode
from facet_dagster.skills.duplicates import Features, features_of
from facet_dagster.skills.front_matter import Front, read_front_matter
from facet_dagster.skills.language import language_of
from facet_dagster.skills.licence import licence_of
from facet_dagster.skills.markdown import Body, view
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.screen import flags, screen_safety, screen_size
from facet_dagster.skills.secrets import mask_secrets
from facet_dagster.skills.shape import dangling_of, files_of, steps_of, tools_of
from facet_dagster.skills.sources.entry import MAX_BYTES, Entry

SLUG_LENGTH = 48
ENGLISH = "en"

_FOOTER_LINE = re.compile(r"<!-- tomevault:|> .*\bTomeVault\b")


@dataclass(frozen=True, slots=True)
class Text:
    """What the rules make of a valid text with its siblings, wherever it stands."""

    name: str
    description: str
    licence: str  # what the author wrote
    body: str
    tools: tuple[str, ...]
    files: tuple[str, ...]
    steps: tuple[str, ...]
    notes: tuple[str, ...]
    dangling: tuple[str, ...]
    actionability: Actionability
    features: Features


@dataclass(frozen=True, slots=True)
class Judged:
    """The text or why it is refused; `language` is empty where nobody got as far as asking."""

    result: Text | Refusal
    language: str = ""


@cache
def rules_version() -> str:
    """Names the rules as they are: another version reads every text again."""
    folder = Path(__file__).parent
    modules = sorted((*folder.glob("*.py"), *folder.glob("*.toml")))  # the tables of signs are rules as well
    code = "\0".join((*(module.read_text(encoding="utf-8") for module in modules), version("rensa")))
    return digest_of(code)[:16]


def judge(data: bytes, size: int, siblings: tuple[str, ...]) -> Judged:
    """All rules over one text; `size` is that of the file, of which `data` may be the beginning only."""
    if size > MAX_BYTES:
        evidence = f"SKILL.md has {size:,} bytes, the limit is {MAX_BYTES:,}"
        return Judged(Refusal(SkillFault.TOO_LARGE, evidence))
    decoded = decode(data)
    if isinstance(decoded, Refusal):
        return Judged(decoded)
    text, masked = mask_secrets(decoded.text)
    front = read_front_matter(text)
    if isinstance(front, Refusal):
        return Judged(front)
    stripped = without_footer(front.body)
    body = view(stripped.strip())
    # Danger first, so that a dangerous skill is never counted as merely useless.
    if refusal := screen_safety(text) or screen_size(body):
        return Judged(refusal)
    language, refusal = _language(front, body)
    if refusal := refusal or screen_access(body.text):
        return Judged(refusal, language)
    values = front.values
    actionability = judge_by_rules(values.name, values.description, body, siblings)
    if actionability.verdict == "no":
        return Judged(Refusal(SkillFault.NOT_ACTIONABLE, actionability.evidence), language)
    footer = ("footer of a collection removed",) if stripped != front.body else ()
    return Judged(
        Text(
            name=values.name,
            description=values.description,
            licence=values.licence,
            body=body.text,
            tools=tools_of(body),
            files=files_of(body),
            steps=steps_of(body),
            notes=(*decoded.notes, *masked, *front.notes, *flags(body), *footer),
            dangling=dangling_of(body, siblings),
            actionability=actionability,
            features=features_of(body.text),
        ),
        language,
    )


def _language(front: Front, body: Body) -> tuple[str, Refusal | None]:
    for what, prose in (("body", body.prose), ("description", front.values.description)):
        if (language := language_of(prose)) != ENGLISH:
            evidence = f"the {what} is not in English (looks like {language})"
            return language, Refusal(SkillFault.OTHER_LANGUAGE, evidence)
    return ENGLISH, None


def skill_of(entry: Entry, text: Text, content_hash: str) -> tuple[Skill, bool]:
    """A valid text at its place; and whether its licence is its own."""
    notes = [*entry.notes, *text.notes]
    if entry.siblings_cut:
        notes.append(f"only the first {len(entry.siblings)} sibling files are listed")
    if text.dangling:
        more = ", …" if len(text.dangling) > 5 else ""
        notes.append(f"names files that it does not bring: {', '.join(text.dangling[:5])}{more}")
    licence, own = licence_of(entry.licences, text.licence)
    identity = digest_of(f"{entry.source}\0{entry.path}\0{content_hash}")
    skill = Skill(
        skill_id=f"{slug_of(text.name)}-{identity[:8]}",
        source=entry.source,
        path=entry.path,
        content_hash=content_hash,
        name=text.name,
        description=text.description,
        body=text.body,
        tools=text.tools,
        inputs_outputs=text.files,
        steps=text.steps,
        siblings=entry.siblings,
        licence=licence,
        language=ENGLISH,
        notes=tuple(notes),
    )
    return skill, own


def without_footer(body: str) -> str:
    """The body without the lines that a collection appends; they differ per copy and would hide duplicates."""
    lines = body.rstrip().split("\n")
    end = len(lines)
    while end and (not lines[end - 1].strip() or _FOOTER_LINE.match(lines[end - 1])):
        end -= 1
    if end == len(lines):
        return body
    if end and set(lines[end - 1].strip()) == {"-"}:
        end -= 1
    return "\n".join(lines[:end])


def slug_of(name: str) -> str:
    """A readable part of an identifier: lower-case ASCII letters, digits and single hyphens."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG_LENGTH].strip("-")
    return slug or "skill"
