"""Scenario -> a built, probed environment with its observed initial state e0; at most `repairs` repairs on the way.

The only failures that are repaired here are those of building and of expected properties. What validation finds
later comes back as feedback and starts a new round.
"""

from facet_dagster.environment.dockerfile import render_dockerfile
from facet_dagster.environment.draft import Draft, Drafter, previous_draft
from facet_dagster.environment.observe import observe
from facet_dagster.environment.probe import failures, probe
from facet_dagster.environment.rebuild import build_request
from facet_dagster.ports import ImageBuilder, Sandbox
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.container import BuildFault, BuildResult, ContainerSpec, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback

EVIDENCE = 4_000  # characters of a log that are kept, from its end


async def prepare(
    seed_id: str,
    scenario: Scenario,
    *,
    asker: Asker,
    builder: ImageBuilder,
    sandbox: Sandbox,
    limits: Limits,
    build_timeout_s: float,
    repairs: int = 3,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Environment | Rejected:
    """Plan, materialise, build, observe and probe (method 3). Raises ModelError, BudgetSpent, InfrastructureError.

    A property or service of the plan is never dropped by a repair: check.py refuses materials without it.
    """
    drafter = Drafter(seed_id, scenario, asker, round)
    previous = previous_draft(feedback)
    draft = await (drafter.revised(previous, feedback) if previous and feedback else drafter.first(feedback))
    used = 0
    while isinstance(draft, Draft):
        outcome = await _realise(
            seed_id, draft, builder=builder, sandbox=sandbox, limits=limits, timeout_s=build_timeout_s, used=used
        )
        if isinstance(outcome, Environment) or used >= repairs:
            return outcome
        used += 1
        draft = await drafter.repaired(draft, outcome, attempt=used)
    return draft


async def _realise(
    seed_id: str,
    draft: Draft,
    *,
    builder: ImageBuilder,
    sandbox: Sandbox,
    limits: Limits,
    timeout_s: float,
    used: int,
) -> Environment | Rejected:
    """Build the draft, start one fresh container without network, record e0 and run the probes."""
    built = await builder.build(build_request(seed_id, draft.materials, limits, timeout_s))
    if not built.ok:
        return _not_built(built)
    spec = ContainerSpec(image=built.image, seed=seed_id, purpose="observe", limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())  # a service that does not come up fails its probe below
        e0 = await observe(container)
        probes = await probe(container, draft.manifest, draft.materials)
    failed = failures(probes)
    if failed:
        await builder.remove(built.image)
        return Rejected(component=Component.ENVIRONMENT, reason=Reason.PROBE_FAILED, evidence=failed[:EVIDENCE])
    return Environment(
        manifest=draft.manifest,
        materials=draft.materials,
        dockerfile=render_dockerfile(draft.materials),
        image=built.image,
        build_seconds=built.seconds,
        probes=probes,
        e0=e0,
        build_repairs=used,
    )


def _not_built(built: BuildResult) -> Rejected:
    reason = Reason.BUILD_LIMIT if built.fault is BuildFault.LIMIT else Reason.BUILD_FAILED
    return Rejected(component=Component.ENVIRONMENT, reason=reason, evidence=built.log[-EVIDENCE:])
