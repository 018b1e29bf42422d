"""`facet seeds` and `facet show SEED`: where seeds stand, and the life of one - versions, rounds, evidence, cost."""

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Column, Table

from facet_dagster.cli.plain import plain
from facet_dagster.errors import SettingsError
from facet_dagster.ports import Store
from facet_dagster.records.authoring import Instruction, Verifier
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome
from facet_dagster.records.rollout import Trial
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.validation import ContractRow, ValidationReport
from facet_dagster.validation.candidate import Contract
from facet_dagster.validation.gates.contract import contract_table


def show_seed(store: Store, seed_id: str, console: Console) -> None:
    """Print everything that is known of a seed. Raises SettingsError for an unknown one."""
    seed = store.get(ScenarioSeed, "all", seed_id)
    if seed is None:
        raise SettingsError(f"unknown seed {seed_id!r}: `facet seeds` lists those there are")
    versions = store.rows(ComponentVersion, seed_id)
    console.print(f"[bold]{escape(seed.title)}[/]  ({seed.seed_id})\nskills: {', '.join(seed.skill_ids)}")
    console.print(f"{seed.rationale}\n", markup=False, highlight=False)
    console.print(history_table(versions))
    for version in versions:
        if version.diagnosis is not None:
            cited = f"{version.diagnosis.reason.value} ({version.diagnosis.decided_by})"
            console.print(f"round {version.round}: {version.component.value} rewritten - {cited}")
            console.print(plain(version.diagnosis.evidence), style="dim", highlight=False)
    _current(versions, console)
    for outcome in store.rows(SeedOutcome, seed_id)[-1:]:
        console.print(f"[bold]{outcome.status.value}[/] after {outcome.rounds} repair round(s)")
        console.print(plain(outcome.evidence), style="dim", highlight=False)
    for trial in store.rows(Trial, seed_id):
        marker = " (recorded model)" if trial.recorded else ""
        console.print(
            f"attempt {trial.attempt} by {trial.model}{marker}: reward {trial.reward}, {len(trial.turns)} turns, "
            f"{trial.stop.value}"
        )


def seed_table(store: Store) -> Table:
    """Every scenario seed and where it stands."""
    table = Table(Column("seed", no_wrap=True), "title", "status", "rounds", "component", "reason", box=None)
    for seed in store.rows(ScenarioSeed):
        outcome = max(store.rows(SeedOutcome, seed.seed_id), key=lambda row: row.at, default=None)
        versions = store.rows(ComponentVersion, seed.seed_id)
        if outcome is None:
            status = f"made so far: {versions[-1].component.value}" if versions else "not begun"
            table.add_row(seed.seed_id, escape(seed.title), status, "", "", "")
            continue
        component = outcome.component.value if outcome.component else ""
        reason = outcome.reason.value if outcome.reason else ""
        table.add_row(seed.seed_id, escape(seed.title), outcome.status.value, str(outcome.rounds), component, reason)
    return table


def history_table(versions: list[ComponentVersion]) -> Table:
    """One line per version: what it is, where it came from, how it ended, what it cost."""
    table = Table("#", "round", "component", "origin", "result", "seconds", "tokens", "usd", box=None)
    for version in versions:
        rejected = version.rejected
        table.add_row(
            str(version.sequence),
            str(version.round),
            version.component.value,
            version.origin.value,
            f"[red]{rejected.reason.value}[/]" if rejected else _result(version),
            f"{version.seconds:.1f}",
            str(version.tokens),
            f"{version.cost_usd:.4f}",
        )
    return table


def _result(version: ComponentVersion) -> str:
    if isinstance(version.body, ValidationReport):
        gate, rate = version.body.failed_gate(), version.body.kill_rate
        killed = f", {rate:.0%} of the spoilt outputs refused" if rate is not None else ""
        return f"[red]{gate.gate.value}[/]{killed}" if gate else f"[green]all gates passed[/]{killed}"
    return "[green]ok[/]"


def _current(versions: list[ComponentVersion], console: Console) -> None:
    """The instruction as it stands, and which tests assert which requirement."""
    bodies = [version.body for version in versions]
    scenario = next((b for b in reversed(bodies) if isinstance(b, Scenario)), None)
    instruction = next((b for b in reversed(bodies) if isinstance(b, Instruction)), None)
    verifier = next((b for b in reversed(bodies) if isinstance(b, Verifier)), None)
    if instruction is not None:
        console.print(Markdown(instruction.text))
    if scenario is not None and verifier is not None:
        clauses = instruction.clauses if instruction is not None else {}
        contract = Contract(scenario.requirements, clauses, verifier.requirement_table())
        console.print(_contract(contract_table(contract)))


def _contract(rows: tuple[ContractRow, ...]) -> Table:
    """Which words of the instruction state a requirement, and which tests assert it."""
    table = Table("requirement", "stated as", Column("tests", overflow="fold", min_width=40), box=None)
    for row in rows:
        tests = "\n".join(row.tests) or "[red]none[/]"
        table.add_row(escape(f"{row.requirement} {row.text}"), escape(row.clause) or "[red]not stated[/]", tests)
    return table
