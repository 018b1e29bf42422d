"""Trials as a supervised fine-tuning set: selection, split, and every file that a training team reads.

Belongs here: putting the parts together. Rules stand in selection.py, rows and formats in sft_rows.py, the card in
sft_card.py, files for trainers in training.py.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path

from facet_dagster.datasets.benchmarks import read_benchmarks
from facet_dagster.datasets.contamination import Contamination
from facet_dagster.datasets.dialogue import contexts_of
from facet_dagster.datasets.folder import write_whole
from facet_dagster.datasets.lineage import lineages, split_seeds
from facet_dagster.datasets.selection import Candidate, Selection, select
from facet_dagster.datasets.sft_card import readme
from facet_dagster.datasets.sft_rows import Row, decisions_parquet, jsonl, parquet, row_of, sharegpt, wholly_trained
from facet_dagster.datasets.tokens import TokenCounter
from facet_dagster.datasets.training import training_files
from facet_dagster.records.base import digest_of, now
from facet_dagster.records.rollout import Trial
from facet_dagster.records.sft import Decision, SftSet, Split
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SftTerms

VALIDATION_FILES = ("validation.jsonl", "validation.parquet", "validation_sharegpt.jsonl")

Skills = Mapping[str, Sequence[Skill]]


def export_sft(
    trials: Sequence[Trial],
    directory: Path,
    *,
    skills: Skills,
    terms: SftTerms | None = None,
    standing: Set[tuple[str, str]] | None = None,
    at: datetime | None = None,
) -> SftSet:
    """Write the set into the folder, whole; the record of it. The files depend on trials, skills and terms alone.

    `skills` names the skills behind each seed; `standing` the (seed, bundle) of tasks that are accepted today (without
    it, all are). Without any row the set is empty but well-formed, and its card says so. Raises SettingsError where
    the terms name a tokenizer or a benchmark that cannot be read.
    """
    terms = terms or SftTerms()
    counter = TokenCounter(terms.tokenizer)
    texts = read_benchmarks(terms.benchmarks)
    benchmarks = Contamination(texts, common=terms.common_grams) if texts else None
    candidates = _candidates(trials, skills, standing)
    selection = select(candidates, terms, counter, benchmarks)
    rows = [
        row_of(c, skills.get(c.trial.seed, ()), selection.tokens[c.name], mask_parse_errors=terms.mask_parse_errors)
        for c in selection.chosen
    ]
    sides = split_seeds(
        Counter(row["seed"] for row in rows),
        {candidate.trial.seed: candidate.lineage for candidate in candidates},
        share=terms.validation_share,
        by=terms.split_by,
        split_seed=terms.split_seed,
    )
    made = _record(rows, sides, _decisions(candidates, selection, sides), selection, counter, terms, at or now())
    _write(directory, made, rows, sides, skills)
    return made


def _candidates(trials: Sequence[Trial], skills: Skills, standing: Set[tuple[str, str]] | None) -> list[Candidate]:
    of_seed = {trial.seed: tuple(skill.skill_id for skill in skills.get(trial.seed, ())) for trial in trials}
    # Seeds without a trial link lineages, too.
    lineage = lineages({**{seed: [s.skill_id for s in of] for seed, of in skills.items()}, **of_seed})
    return [
        Candidate(
            trial,
            of_seed[trial.seed],
            lineage[trial.seed],
            fallen=standing is not None and (trial.seed, trial.bundle) not in standing,
            context=context,
        )
        for trial in sorted(trials, key=lambda t: (t.seed, t.key))
        for context in contexts_of(trial)
    ]


def _decisions(
    candidates: Sequence[Candidate], selection: Selection, sides: Mapping[str, Split]
) -> tuple[Decision, ...]:
    nothing = (None, "")
    return tuple(
        Decision(
            seed=candidate.trial.seed,
            trial=candidate.trial.key,
            task=candidate.trial.task,
            model=candidate.trial.model,
            attempt=candidate.trial.attempt,
            split=None if candidate.name in selection.refused else sides[candidate.trial.seed],
            rule=selection.refused.get(candidate.name, nothing)[0],
            evidence=selection.refused.get(candidate.name, nothing)[1],
            context=candidate.context,
        )
        for candidate in candidates
    )


def _record(
    rows: Sequence[Row],
    sides: Mapping[str, Split],
    decisions: tuple[Decision, ...],
    selection: Selection,
    counter: TokenCounter,
    terms: SftTerms,
    at: datetime,
) -> SftSet:
    by_side = Counter(sides[row["seed"]] for row in rows)
    content = hashlib.sha256()
    for line in jsonl(rows):
        content.update(line)
    said = [step.model_dump_json() for step in selection.funnel] + [each.model_dump_json() for each in decisions]
    return SftSet(
        set_id=digest_of("\n".join([*said, content.hexdigest()])),
        at=at,
        trials=len({(each.seed, each.trial) for each in decisions}),
        rows=len(rows),
        train=by_side["train"],
        validation=by_side["validation"],
        failures=sum(row["reward"] != 1.0 for row in rows),
        turns=sum(row["turns"] for row in rows),
        tokens=sum(row["tokens"] for row in rows),
        counted_by=counter.name,
        over_cutoff=sum(row["tokens"] > terms.cutoff for row in rows),
        masked_turns=sum(row["turns"] - sum(row["loss_mask"]) for row in rows),
        recorded=any(row["recorded"] for row in rows),
        models=tuple(sorted({row["model"] for row in rows})),
        licences=tuple(sorted({licence for row in rows for licence in row["licences"]})),
        terms=terms,
        funnel=selection.funnel,
        decisions=decisions,
    )


def _write(directory: Path, made: SftSet, rows: Sequence[Row], sides: Mapping[str, Split], skills: Skills) -> None:
    """All files, the card last; validation files of an earlier set go where this one has none."""
    for side in ("train", "validation"):
        part = [row for row in rows if sides[row["seed"]] == side]
        if side == "train" or part:
            write_whole(directory / f"{side}.jsonl", jsonl(part))
            write_whole(directory / f"{side}.parquet", parquet(part))
            shared = jsonl(sharegpt(row) for row in part if wholly_trained(row))
            write_whole(directory / f"{side}_sharegpt.jsonl", shared)
    if not made.validation:
        for name in VALIDATION_FILES:
            (directory / name).unlink(missing_ok=True)
    write_whole(directory / "selection.parquet", decisions_parquet(made.decisions))
    shared_validation = any(wholly_trained(row) and sides[row["seed"]] == "validation" for row in rows)
    for name, data in training_files(validation=shared_validation, cutoff=made.terms.cutoff).items():
        write_whole(directory / name, data)
    write_whole(directory / "README.md", readme(made, rows, sides, skills).encode())
