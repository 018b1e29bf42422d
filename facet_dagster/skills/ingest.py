"""The front door of the skills station: sources in, skills, rejects and the log of what became of each folder out.

Only what is new or has changed goes through the rules; duplicates are found among all that the store knows. Does not
belong here: any single rule (reading), the search for duplicates (duplicates), how a source is read (sources).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from facet_dagster.errors import SettingsError
from facet_dagster.ports import Store
from facet_dagster.records.base import digest_of, now
from facet_dagster.records.skill import Skill, SkillEntry, SkillFault, SkillIngest, SkillReject
from facet_dagster.skills.duplicates import (
    Copy,
    Features,
    Verdict,
    features_of,
    features_version,
    find_duplicates,
    similarity,
)
from facet_dagster.skills.history import (
    Address,
    History,
    Known,
    adopt_lost_skills,
    keep_features,
    read_features,
    read_history,
    reading_of,
)
from facet_dagster.skills.reading import Judged, rules_version, skill_of
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import Entry, Source
from facet_dagster.skills.workers import Judges

Say = Callable[[str], None]
SAY_EVERY = 2_000  # entries between two lines of progress
_BODIES = 2_000  # that are fetched together
_AT_ONCE = "another ingest ran at the same time: run this one again"


@dataclass
class _Round:
    """What one ingest gathers before it writes."""

    number: int
    rules: str
    skills: dict[str, Skill] = field(default_factory=dict)  # by key: those that the store lacks
    own_refusals: dict[Address, Refusal] = field(default_factory=dict)
    sketches: dict[str, bytes] = field(default_factory=dict)
    shingles: dict[str, bytes] = field(default_factory=dict)  # by words, as the sketches
    standing: dict[Address, SkillEntry] = field(default_factory=dict)  # everything live, old and new
    fresh: set[Address] = field(default_factory=set)
    found: int = 0
    versions: dict[str, str] = field(default_factory=dict)


def ingest(
    sources: Sequence[Source],
    store: Store,
    *,
    workers: int | None = 1,
    say: Say | None = None,
    history: History | None = None,
) -> SkillIngest:
    """Read sources and keep what became of every folder; what a source no longer holds is marked as removed.

    `history` is the log of the store where the caller has just read it; it is used up. Raises SettingsError for a
    source that cannot be read (nothing is written then), and where two ingests meet.
    """
    tell = say or (lambda line: None)
    history = history or read_history(store)
    adopt_lost_skills(store, history)
    names = [source.name for source in sources]
    for name in names:
        history.order.setdefault(name, len(history.order))
    round_ = _Round(history.number + 1, rules_version())
    round_.standing = {e.address: e for e in history.live() if e.collection not in names}
    with Judges[tuple[Address, str, Entry, str]](workers) as judges:
        for source in sources:
            _read(source, history, round_, judges, tell)
        for named, judged in judges.rest():
            _take(named, judged, history, round_)
    tell(f"{round_.found:,} found, {len(round_.fresh):,} new or changed; looking for duplicates")
    known = read_features(store, history.ingests, features_version())
    verdicts, pairs = _duplicates(round_, history, known, store)
    entries, rejects = _settle(round_, history, verdicts)
    removed = [
        entry.model_copy(update={"ingest": round_.number, "state": "removed"})
        for address, entry in history.latest.items()
        if entry.collection in names and entry.state != "removed" and address not in round_.standing
    ]
    tell(
        f"writing {len(round_.skills):,} skills, {len(rejects):,} rejects, {len(entries) + len(removed):,} log entries"
    )
    if store.put_all(list(round_.skills.values())) < len(round_.skills):
        raise SettingsError(_AT_ONCE)  # a key that was free is taken
    store.put_all(rejects)
    record = _record(round_, sources, len(removed), keep_features(store, round_.sketches, pairs))
    if not store.put(record):
        raise SettingsError(_AT_ONCE)
    store.put_all([*entries, *removed])
    return record


def _read(
    source: Source, history: History, round_: _Round, judges: Judges[tuple[Address, str, Entry, str]], tell: Say
) -> None:
    marks = []
    for entry in source.entries():
        content_hash = digest_of(entry.data)
        mark = _fingerprint(entry, content_hash, round_.rules)
        marks.append(mark)
        address = (source.name, entry.source, entry.path)
        before = history.latest.get(address)
        if before is not None and before.state != "removed" and before.fingerprint == mark:
            round_.standing[address] = before
        else:
            round_.fresh.add(address)
            named = (address, mark, replace(entry, data=b""), content_hash)
            if entry.refusal is not None:
                _take(named, Judged(entry.refusal), history, round_)
            else:
                for done, judged in judges.put(named, entry, content_hash):
                    _take(done, judged, history, round_)
        round_.found += 1
        if round_.found % SAY_EVERY == 0:
            tell(f"{source.name}: {round_.found:,} found, {len(round_.fresh):,} new or changed")
    round_.versions[source.name] = source.version or digest_of("\n".join(sorted(marks)))[:32]


def _fingerprint(entry: Entry, content_hash: str, rules: str) -> str:
    """Of all that the rules see: equal ones end equally, so that nothing needs to be read again."""
    refusal = entry.refusal.evidence if entry.refusal else ""
    beside = (*entry.siblings, "", *(f"{each.own}{each.name}{each.text}" for each in entry.licences), "", *entry.notes)
    seen = (rules, content_hash, str(entry.size), refusal, entry.target, str(entry.siblings_cut), *beside)
    return digest_of("\0".join(seen))[:32]


def _take(named: tuple[Address, str, Entry, str], judged: Judged, history: History, round_: _Round) -> None:
    """One judged text becomes a draft of its log entry; whether a valid one is a duplicate is not known yet."""
    address, mark, entry, content_hash = named
    base = {
        "ingest": round_.number,
        "collection": address[0],
        "source": entry.source,
        "path": entry.path,
        "fingerprint": mark,
        "content_hash": content_hash,
        "language": judged.language,
        "siblings": len(entry.siblings),
        "linked": bool(entry.target),
        "rules": round_.rules,
    }
    if isinstance(judged.result, Refusal):
        round_.own_refusals[address] = judged.result
        round_.standing[address] = SkillEntry(state="refused", fault=judged.result.fault, **base)
        return
    text = judged.result
    skill, own = skill_of(entry, text, content_hash)
    reading = reading_of(skill)
    keys = history.keys.setdefault(skill.skill_id, {})
    if reading not in keys:
        skill = skill.model_copy(update={"revision": history.next_revision(skill.skill_id)})
        keys[reading] = skill.key
        round_.skills[skill.key] = skill
    words = text.features.words
    round_.sketches.setdefault(words, text.features.sketch)
    round_.shingles.setdefault(words, text.features.shingles)
    view = text.actionability
    round_.standing[address] = SkillEntry(
        state="kept",
        name=skill.name,
        skill_id=skill.skill_id,
        skill_key=keys[reading],
        reading=reading,
        words=words,
        licence=skill.licence,
        own_licence=own,
        actionable=True if view.verdict == "yes" else None,
        family=view.family,
        category=view.category,
        sign=view.evidence,
        **base,
    )


def _duplicates(
    round_: _Round, history: History, known: Known, store: Store
) -> tuple[dict[Address, Verdict], dict[tuple[str, str], float]]:
    """The verdict on every valid skill that the store knows, and the similarities that had to be measured."""
    valid = [entry for entry in round_.standing.values() if entry.skill_key]
    keys = {entry.words: entry.skill_key for entry in valid}
    sketches = {**known.sketches, **round_.sketches}
    # Of other sources, where earlier versions made them: all at once.
    missing = {words: key for words, key in keys.items() if words not in sketches}
    for words, features in _features_in_store(missing, store):
        round_.sketches[words] = sketches[words] = features.sketch
        round_.shingles[words] = features.shingles

    def shingles(words: str) -> bytes:
        if words not in round_.shingles:
            ((_, features),) = _features_in_store({words: keys[words]}, store)
            round_.shingles[words] = features.shingles
        return round_.shingles[words]

    copies = [
        Copy(_rank(entry, history), entry.skill_id, _place(entry), Features(entry.words, sketches[entry.words]))
        for entry in valid
    ]
    verdicts, pairs = find_duplicates(
        copies, known.pairs, lambda one, other: similarity(shingles(one), shingles(other))
    )
    for words in known.sketches:
        round_.sketches.pop(words, None)
    return {entry.address: verdicts[copy.rank] for entry, copy in zip(valid, copies, strict=True)}, pairs


def _features_in_store(keys: Mapping[str, str], store: Store) -> Iterator[tuple[str, Features]]:
    """Of bodies that stand in the store: by the digest of their words, for the keys of their skills."""
    waiting = iter(keys.items())
    while some := dict(islice(waiting, _BODIES)):
        skills = store.get_all(Skill, "all", some.values())
        yield from ((words, features_of(skills[key].body if key in skills else "")) for words, key in some.items())


def _rank(entry: SkillEntry, history: History) -> tuple[object, ...]:
    """Real files before links, then own licence, siblings, the earlier source, the path."""
    order = history.order[entry.collection]
    return entry.linked, not entry.own_licence, not entry.siblings, order, entry.source, entry.path


def _place(entry: SkillEntry) -> str:
    return entry.path if entry.source == entry.collection else f"{entry.source}/{entry.path}"


def _settle(
    round_: _Round, history: History, verdicts: dict[Address, Verdict]
) -> tuple[list[SkillEntry], list[SkillReject]]:
    """Log entries of all that is new or ends otherwise than before, and the rejects among them."""
    entries, rejects = [], []
    for address, draft in sorted(round_.standing.items()):
        verdict = verdicts.get(address)
        refusal = verdict.refusal if verdict else round_.own_refusals.get(address)
        if verdict is None and refusal is None:
            continue  # refused by an earlier ingest, and nothing has changed
        cluster = verdict.cluster if verdict else ""
        reject = _reject(draft, refusal, cluster) if refusal else None
        end = {
            "state": "refused" if refusal else "kept",
            "fault": refusal.fault if refusal else None,
            "cluster": cluster,
            "reject_key": reject.key if reject else "",
        }
        if address in round_.fresh or any(getattr(draft, name) != value for name, value in end.items()):
            after = draft.model_copy(update={**end, "ingest": round_.number})
            round_.standing[address] = after
            entries.append(after)
            rejects += [reject] if reject else []
    return entries, rejects


def _reject(entry: SkillEntry, refusal: Refusal, cluster: str) -> SkillReject:
    return SkillReject(
        source=entry.source,
        path=entry.path,
        content_hash=entry.content_hash,
        fault=refusal.fault,
        evidence=refusal.evidence,
        cluster=cluster,
    )


def _record(round_: _Round, sources: Sequence[Source], removed: int, features: str) -> SkillIngest:
    states = [entry.state for entry in round_.standing.values()]
    copies = {SkillFault.DUPLICATE, SkillFault.NEAR_DUPLICATE}
    return SkillIngest(
        number=round_.number,
        at=now(),
        collections=tuple(source.name for source in sources),
        versions=tuple(round_.versions[source.name] for source in sources),
        places=tuple(source.place for source in sources),
        rules=round_.rules,
        found=round_.found,
        fresh=len(round_.fresh),
        removed=removed,
        kept=states.count("kept"),
        refused=states.count("refused"),
        duplicates=sum(1 for entry in round_.standing.values() if entry.fault in copies),
        features=features,
        sketched=features_version(),
    )
