"""The front door of the skills station: a folder tree of SKILL.md folders in, skills and rejects out.

Holds the order of the steps and the addresses of the results. Does not belong here: any single rule (decode,
front_matter, screen, access, language, shape, duplicates).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from facet_dagster.errors import SettingsError
from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill, SkillFault, SkillReject
from facet_dagster.skills.access import screen_access
from facet_dagster.skills.actionable import judge_by_rules
from facet_dagster.skills.decode import decode
from facet_dagster.skills.duplicates import split_duplicates
from facet_dagster.skills.find import Found, find_skills, list_siblings
from facet_dagster.skills.front_matter import Front, read_front_matter
from facet_dagster.skills.language import language_of
from facet_dagster.skills.licence import licence_of
from facet_dagster.skills.markdown import Body, view
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.screen import flags, screen_safety, screen_size
from facet_dagster.skills.secrets import mask_secrets
from facet_dagster.skills.shape import dangling_of, files_of, steps_of, tools_of

MAX_BYTES = 100_000
"""A larger SKILL.md is a manual and not a skill: 17 of 116,000 in the public corpus."""
SLUG_LENGTH = 48

_FOOTER_LINE = re.compile(r"<!-- tomevault:|> .*\bTomeVault\b")


@dataclass(frozen=True, slots=True)
class Ingest:
    """All that was found: every skill folder is in exactly one of the two, each sorted by path."""

    skills: tuple[Skill, ...]
    rejects: tuple[SkillReject, ...]


def read_skills(root: Path, *, source: str | None = None) -> Ingest:
    """Read every SKILL.md folder below `root`; `source` names the collection (default: the folder's name).

    Raises SettingsError when the root is missing or not a folder.
    """
    if not root.is_dir():
        raise SettingsError(
            f"skills folder {root} does not exist or is not a folder: give a folder that holds SKILL.md folders"
        )
    origin = source or root.resolve().name or "skills"
    read: list[Skill] = []
    rejects: list[SkillReject] = []
    linked: set[str] = set()
    for found in find_skills(root):
        result = _read_one(found, origin)
        if isinstance(result, SkillReject):
            rejects.append(result)
        else:
            read.append(result)
            if found.linked:
                linked.add(result.skill_id)
    skills: list[Skill] = []
    for skill, refusal in split_duplicates(read, frozenset(linked)):
        if refusal is None:
            skills.append(skill)
        else:
            rejects.append(_reject(origin, skill.path, skill.content_hash, refusal))
    return Ingest(
        tuple(sorted(skills, key=lambda skill: skill.path)), tuple(sorted(rejects, key=lambda reject: reject.path))
    )


def _read_one(found: Found, source: str) -> Skill | SkillReject:
    if found.file is None:
        refusal = found.refusal or Refusal(SkillFault.UNREADABLE, "no SKILL.md")
        return _reject(source, found.path, digest_of(b""), refusal)
    try:
        if (size := found.file.stat().st_size) > MAX_BYTES:
            with found.file.open("rb") as stream:
                content_hash = digest_of(stream.read(MAX_BYTES))
            refusal = Refusal(SkillFault.TOO_LARGE, f"SKILL.md has {size:,} bytes, the limit is {MAX_BYTES:,}")
            return _reject(source, found.path, content_hash, refusal)
        data = found.file.read_bytes()
        content_hash = digest_of(data)
        result = _build(found, data, content_hash, source)
    except OSError as trouble:
        refusal = Refusal(SkillFault.UNREADABLE, f"cannot be read: {trouble.strerror}")
        return _reject(source, found.path, digest_of(b""), refusal)
    return result if isinstance(result, Skill) else _reject(source, found.path, content_hash, result)


def _build(found: Found, data: bytes, content_hash: str, source: str) -> Skill | Refusal:
    decoded = decode(data)
    if isinstance(decoded, Refusal):
        return decoded
    text, masked = mask_secrets(decoded.text)
    front = read_front_matter(text)
    if isinstance(front, Refusal):
        return front
    stripped = without_footer(front.body)
    body = view(stripped.strip())
    siblings, cut = list_siblings(found.folder)
    refusal = _screen(text, front, body, siblings)
    if refusal is not None:
        return refusal
    notes = [*found.notes, *decoded.notes, *masked, *front.notes, *flags(body)]
    if stripped != front.body:
        notes.append("footer of a collection removed")
    if cut:
        notes.append(f"only the first {len(siblings)} sibling files are listed")
    if dangling := dangling_of(body, siblings):
        notes.append(
            f"names files that it does not bring: {', '.join(dangling[:5])}{', …' if len(dangling) > 5 else ''}"
        )
    identity = digest_of(f"{source}\0{found.path}\0{content_hash}")
    return Skill(
        skill_id=f"{slug_of(front.values.name)}-{identity[:8]}",
        source=source,
        path=found.path,
        content_hash=content_hash,
        name=front.values.name,
        description=front.values.description,
        body=body.text,
        tools=tools_of(body),
        inputs_outputs=files_of(body),
        steps=steps_of(body),
        siblings=siblings,
        licence=licence_of(found.folder, front.values.licence),
        notes=tuple(notes),
    )


def _screen(text: str, front: Front, body: Body, siblings: tuple[str, ...]) -> Refusal | None:
    """The rules in their order: danger first, so that a dangerous skill is never counted as merely useless."""
    if refusal := screen_safety(text) or screen_size(body):
        return refusal
    if (language := language_of(body.prose)) != "en":
        return Refusal(SkillFault.OTHER_LANGUAGE, f"the body is not in English (looks like {language})")
    if (language := language_of(front.values.description)) != "en":
        return Refusal(SkillFault.OTHER_LANGUAGE, f"the description is not in English (looks like {language})")
    if refusal := screen_access(body.text):
        return refusal
    judged = judge_by_rules(front.values.name, front.values.description, body, siblings)
    return Refusal(SkillFault.NOT_ACTIONABLE, judged.evidence) if judged.verdict == "no" else None


def _reject(source: str, path: str, content_hash: str, refusal: Refusal) -> SkillReject:
    return SkillReject(
        source=source, path=path, content_hash=content_hash, fault=refusal.fault, evidence=refusal.evidence
    )


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
