"""Agent skills as they were read, those that were refused, and the log of what became of each folder."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal

from facet_dagster.records.base import StoredRecord, digest_of


class SkillFault(StrEnum):
    """Why a skill folder is not used. Exactly one per refused folder."""

    UNREADABLE = "unreadable"
    NO_FRONT_MATTER = "no_front_matter"
    BAD_FRONT_MATTER = "bad_front_matter"
    NO_NAME = "no_name"
    NO_DESCRIPTION = "no_description"
    EMPTY_BODY = "empty_body"
    TOO_LARGE = "too_large"
    UNSAFE = "unsafe"
    NEEDS_PRIVATE_ACCESS = "needs_private_access"
    NOT_ACTIONABLE = "not_actionable"
    OTHER_LANGUAGE = "other_language"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"


class Family(StrEnum):
    """The five top-level families of the paper's taxonomy (FACET 1.2, item 3)."""

    AI = "ai"  # AI, agents, tools
    SOFTWARE = "software"  # software, systems, security
    DATA = "data"  # data, analysis
    DOCUMENTS = "documents"  # documents, productivity
    MEDIA = "media"  # multimedia, publishing


class SkillClass(StoredRecord):
    """Whether a terminal can act on a skill, and where it stands in the taxonomy. By content, not by path.

    Kept are those of a model. What the rules say hangs on the rules, too, and stands in the log: `SkillEntry.by_rule`.
    """

    table: ClassVar[str] = "skill_classes"

    content_hash: str  # of the skill's file
    actionable: bool | None  # None: left open
    family: Family | None = None
    category: str | None = None  # one of 34, docs/actionability.md
    decided_by: Literal["rule", "model"]  # `model`; `rule` is never stored
    evidence: str  # words that decided

    @property
    def group(self) -> str:
        return self.decided_by

    @property
    def key(self) -> str:
        return self.content_hash


def one_class(rule: SkillClass | None, model: SkillClass | None) -> SkillClass | None:
    """Both in one: the model's goes before the rules', and what it leaves open is taken from theirs."""
    if rule is None or model is None:
        return model or rule
    place = rule if (rule.category and not model.category) or not model.family else model
    return model.model_copy(
        update={
            "actionable": rule.actionable if model.actionable is None else model.actionable,
            "family": place.family,
            "category": place.category,
        }
    )


class Skill(StoredRecord):
    """A valid, normalised skill. Identity is source + path + content hash; names are not keys."""

    table: ClassVar[str] = "skills"

    skill_id: str  # readable slug + 8 hex digits of the identity
    source: str  # the collection, or the repository that a dump names
    path: str  # of its folder or file there
    content_hash: str  # SHA-256 of the file as read
    name: str  # as its front matter says
    description: str  # as its front matter says
    body: str  # text below the front matter, normalised
    tools: tuple[str, ...] = ()  # that it names
    inputs_outputs: tuple[str, ...] = ()  # what goes in and comes out, as it says
    steps: tuple[str, ...] = ()  # of its procedure
    siblings: tuple[str, ...] = ()  # other files of its folder
    licence: str = "unknown"  # SPDX name, as its folder, front matter or repository says
    language: str = "en"  # of the text, as far as it can be told
    notes: tuple[str, ...] = ()  # what was recovered, removed, masked or flagged while reading
    revision: int = 0  # the same bytes read again with another result: other siblings, licence or rules

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return f"{self.skill_id}.{self.revision:04d}" if self.revision else self.skill_id


class SkillReject(StoredRecord):
    """A folder that is not used, with one reason and what shows it."""

    table: ClassVar[str] = "skill_rejects"

    source: str  # the collection, or the repository that a dump names
    path: str  # of the folder or file there
    content_hash: str  # SHA-256 of the file as read
    fault: SkillFault
    evidence: str  # what shows it
    cluster: str = ""  # of a duplicate: the id of the skill that was kept in its place

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        # The folder is part of it: many refused files are the same bytes (empty ones, copies).
        what = digest_of("\0".join((self.source, self.path, self.content_hash, self.evidence, self.cluster)))
        return f"{what[:16]}-{self.fault.value}"


class SkillEntry(StoredRecord):
    """What became of one folder of a source: written by the ingest that found it new, changed or gone.

    The latest entry of an address (collection, source, path) says how it stands now; the earlier ones are its history.
    """

    table: ClassVar[str] = "skill_log"

    ingest: int  # number of the ingest, from 1
    collection: str  # name of what was read: a folder, a checkout, a dump, an archive
    source: str  # the collection, or the repository that a dump names
    path: str  # of the folder or file there
    state: Literal["kept", "refused", "removed"]  # `kept`, `refused` or `removed`
    fingerprint: str  # of all that the rules saw, and of the rules
    content_hash: str  # SHA-256 of the file as read
    fault: SkillFault | None = None
    cluster: str = ""  # id of the skill that was kept for this text, its own where that is itself
    reject_key: str = ""  # of the row of `skill_rejects`
    # What the rules made of a valid text, whether it was kept or is a duplicate; empty for others.
    name: str = ""  # of the skill
    skill_id: str = ""
    skill_key: str = ""  # of the row of `skills`
    reading: str = ""  # digest of the skill without its revision
    words: str = ""  # digest of the normalised body
    licence: str = ""  # of the skill
    language: str = ""  # of the skill
    own_licence: bool = False  # a licence of its own: in its folder or its front matter
    siblings: int = 0  # other files of its folder
    linked: bool = False  # its SKILL.md is a link to another one
    rules: str = ""  # version of the rules that read it
    # What these rules say of a valid text; `sign` is what decided.
    actionable: bool | None = None  # whether a terminal can act on it; none where these rules leave it open
    family: Family | None = None
    category: str | None = None  # of the 34, by these rules
    sign: str = ""  # what decided

    @property
    def group(self) -> str:
        return f"{self.ingest:06d}"

    @property
    def key(self) -> str:
        return digest_of("\0".join(self.address))[:32]

    @property
    def address(self) -> tuple[str, str, str]:
        """What stays the same from ingest to ingest."""
        return self.collection, self.source, self.path

    @property
    def by_rule(self) -> SkillClass | None:
        """The class of a valid text by the rules; None for others."""
        if not self.sign:
            return None
        return SkillClass(
            content_hash=self.content_hash,
            actionable=self.actionable,
            family=self.family,
            category=self.category,
            decided_by="rule",
            evidence=self.sign,
        )


class SkillIngest(StoredRecord):
    """One ingest: what was read, how much of it was new, and where the features of its texts are kept."""

    table: ClassVar[str] = "skill_ingests"

    number: int  # from 1
    at: datetime
    collections: tuple[str, ...]  # names of what was read
    versions: tuple[str, ...]  # of each collection what names its state: a commit, or the digest of its entries
    rules: str  # version of the rules
    found: int  # folders in these collections
    fresh: int  # of them, new or changed
    removed: int  # folders that are gone
    kept: int  # over all collections that the store knows, as the next two
    refused: int  # of all, for a reason of their own
    duplicates: int  # of all, copies of kept ones
    features: str  # blob: sketches of texts and similarities of pairs that earlier ingests have not computed
    sketched: str = ""  # version of what computed these
    places: tuple[str, ...] = ()  # of each collection where it was read from

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return f"{self.number:06d}"
