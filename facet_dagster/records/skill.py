"""Agent skills as they were read, and those that were refused."""

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
    """Whether a terminal can act on a skill, and where it stands in the taxonomy. By content, not by path."""

    table: ClassVar[str] = "skill_classes"

    content_hash: str
    actionable: bool | None  # None: the rules leave it open and no model was asked
    family: Family | None = None
    category: str | None = None
    decided_by: Literal["rule", "model"]
    evidence: str

    @property
    def group(self) -> str:
        return self.decided_by

    @property
    def key(self) -> str:
        return self.content_hash


class Skill(StoredRecord):
    """A valid, normalised skill. Identity is source + path + content hash; names are not keys."""

    table: ClassVar[str] = "skills"

    skill_id: str  # readable slug + 8 hex digits of the identity
    source: str
    path: str
    content_hash: str
    name: str
    description: str
    body: str
    tools: tuple[str, ...] = ()
    inputs_outputs: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()
    licence: str = "unknown"
    language: str = "en"
    notes: tuple[str, ...] = ()  # what was recovered, removed, masked or flagged while reading

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return self.skill_id


class SkillReject(StoredRecord):
    """A folder that is not used, with one reason and what shows it."""

    table: ClassVar[str] = "skill_rejects"

    source: str
    path: str
    content_hash: str
    fault: SkillFault
    evidence: str

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        # The folder is part of it: many refused files are the same bytes (empty ones, copies).
        folder = digest_of(f"{self.source}\0{self.path}\0{self.content_hash}")
        return f"{folder[:16]}-{self.fault.value}"
