"""An accepted bundle as a task directory that Harbor runs (task.toml 1.4).

Belongs here: what goes where in the directory. The fixed texts are real files in `task_template/`; Dockerfile and
build context are passed in, as the environment's own station renders them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined, Template

from facet_dagster.datasets import toml
from facet_dagster.datasets.folder import content_hash, replace_folder
from facet_dagster.records.authoring import Instruction, Solution, Verifier, at_tests
from facet_dagster.records.base import Record
from facet_dagster.records.container import FileEntry, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.validation import ValidationReport

TEMPLATES = Path(__file__).parent.parent / "task_template"
TASK_VERSION = "1.0.0"
SLUG = re.compile(r"[a-z0-9][a-z0-9._-]*")
VERIFIER_MARGIN_S = 60.0  # for starting and reporting, beyond the tests' own limit


class TaskTerms(Record):
    """Bounds declared in task.toml, times in seconds.

    `grade_timeout_s` is when the tests end themselves, without a reward.
    """

    limits: Limits = Limits()
    build_timeout_s: float = 900.0
    agent_timeout_s: float = 900.0
    grade_timeout_s: float = 300.0


def export_task(
    directory: Path,
    *,
    org: str,
    seed: ScenarioSeed,
    skills: Sequence[Skill],
    scenario: Scenario,
    environment: Environment,
    instruction: Instruction,
    solution: Solution,
    verifier: Verifier,
    report: ValidationReport,
    provenance: Mapping[str, Any],
    dockerfile: str,
    context: Sequence[FileEntry],
    terms: TaskTerms | None = None,
) -> Path:
    """Write the task `org/<seed id>` to `directory/<seed id>` and return that path; the same input writes nothing anew.

    `dockerfile` must build from a public image; `provenance` (models, prompt hashes, rounds, cost, recorded) goes
    to [metadata] as it is, so it may hold text, numbers, lists and mappings. Raises ValueError for a name that Harbor
    does not take or a file outside the task.
    """
    terms = terms or TaskTerms()
    if not SLUG.fullmatch(org) or not SLUG.fullmatch(seed.seed_id):
        raise ValueError(f"not a task name: {org}/{seed.seed_id}")
    fixed = [
        FileEntry(path="instruction.md", content=instruction.text.rstrip() + "\n"),
        FileEntry(path="environment/Dockerfile", content=dockerfile),
        _template("docker-compose.yaml", "environment/docker-compose.yaml"),
        *(entry.model_copy(update={"path": f"environment/{entry.path}"}) for entry in context),
        FileEntry(path="solution/solve.sh", content=solution.script, mode=0o755),
        *_tests(verifier),
    ]
    metadata = {
        **_metadata(seed, skills, environment, report, content_hash(fixed)),
        **_contract(scenario, instruction, verifier),
    }
    variables = {
        "name": f"{org}/{seed.seed_id}",
        "version": TASK_VERSION,
        "title": scenario.title,
        "description": scenario.title,
        "keywords": sorted({skill.name for skill in skills}),
        "metadata": {**metadata, **provenance, **metadata},  # its own entries first, and never replaced
        "requirements": _requirements(scenario, verifier),
        "services": bool(environment.materials.services),
        "wait_for_services": wait_for_services().script,
        "skills": skills,
        "recorded": bool(provenance.get("recorded")),
        **dict(terms),
        "verifier_timeout_s": terms.grade_timeout_s + VERIFIER_MARGIN_S,
    }
    rendered = [_render(name, variables) for name in ("README.md", "task.toml")]
    target = directory / seed.seed_id
    directory.mkdir(parents=True, exist_ok=True)
    replace_folder(target, [*fixed, *rendered])
    return target


def _tests(verifier: Verifier) -> Iterator[FileEntry]:
    for path in sorted((TEMPLATES / "tests").iterdir()):
        if path.is_file():
            yield _template(f"tests/{path.name}", f"tests/{path.name}")
    yield FileEntry(path="tests/test_outputs.py", content=verifier.test_file)
    for entry in at_tests(verifier.e0_copies):
        yield entry.model_copy(update={"path": entry.path.lstrip("/")})


def _template(name: str, path: str) -> FileEntry:
    return FileEntry.of(path, (TEMPLATES / name).read_bytes(), 0o755 if name.endswith(".sh") else 0o644)


def _render(name: str, variables: Mapping[str, Any]) -> FileEntry:
    return FileEntry(path=name, content=_compiled(name).render(**variables))


@cache
def _compiled(name: str) -> Template:
    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    jinja.filters.update(toml=toml.value, toml_key=toml.key, cell=_cell)
    source = (TEMPLATES / f"{name}.j2").read_text(encoding="utf-8")
    return jinja.from_string(source)


def _cell(text: str) -> str:
    """Text that fits into one cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def _requirements(scenario: Scenario, verifier: Verifier) -> list[dict[str, Any]]:
    table = verifier.requirement_table()
    return [
        {"id": r.id, "text": r.text, "tests": [test for test, asserted in table.items() if r.id in asserted]}
        for r in scenario.requirements
    ]


def _metadata(
    seed: ScenarioSeed,
    skills: Sequence[Skill],
    environment: Environment,
    report: ValidationReport,
    files: str,
) -> dict[str, Any]:
    """Where the task comes from. `content_hash` covers every file but task.toml and README.md."""
    return {
        "generator": "facet-dagster",
        "seed": seed.seed_id,
        "title": seed.title,
        "difficulty": "unmeasured",
        "bundle": report.bundle,
        "content_hash": files,
        "environment_repairs": environment.build_repairs,
        "noop_runs": len(report.noop_runs),
        "oracle_runs": len(report.oracle_runs),
        "skills": [
            {
                "id": skill.skill_id,
                "name": skill.name,
                "source": skill.source,
                "path": skill.path,
                "licence": skill.licence,
                "content_hash": skill.content_hash,
            }
            for skill in skills
        ],
    }


def _contract(scenario: Scenario, instruction: Instruction, verifier: Verifier) -> dict[str, Any]:
    """What was promised, from requirement to clause to test; `facet validate` reads it back (audit/contract.py)."""
    table = {row["id"]: row["tests"] for row in _requirements(scenario, verifier)}
    return {
        "requirements": {
            r.id: {
                "text": r.text,
                "observable": r.observable,
                "clause": instruction.clauses.get(r.id),
                "tests": table[r.id],
            }
            for r in scenario.requirements
        },
        "tests": {test: list(asserted) for test, asserted in verifier.requirement_table().items()},
    }
