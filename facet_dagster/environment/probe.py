"""Initialisation checks: what the plan promises is run in a fresh container, not assumed (method 3.3)."""

import shlex

from facet_dagster.ports import Container
from facet_dagster.records.container import AGENT_USER, Command
from facet_dagster.records.environment import Manifest, Materials, Probe, ProbeResult

TIMEOUT_S = 60.0
OUTPUT = 1_000  # characters kept of what a probe printed


def probes_of(manifest: Manifest, materials: Materials) -> tuple[Probe, ...]:
    """Planned paths, services and expected properties, in this order; properties as the agent's user."""
    return (
        _probe("paths", "every planned path exists", _paths_script(manifest), user="root"),
        *(_probe(s.name, f"service {s.name} serves", s.health, user="root") for s in materials.services),
        *(_probe(p.id, p.description, p.probe) for p in materials.properties),
    )


async def probe(container: Container, manifest: Manifest, materials: Materials) -> tuple[ProbeResult, ...]:
    """Run all of them in a fresh container."""
    return tuple([await _run(container, planned) for planned in probes_of(manifest, materials)])


def failures(probes: tuple[ProbeResult, ...]) -> str:
    """What did not hold, with what the probe printed; empty when everything holds."""
    return "\n\n".join(
        f"{p.id} does not hold: {p.description}\n{p.output or '(the probe printed nothing)'}"
        for p in probes
        if not p.ok
    )


def _probe(id: str, description: str, script: str, user: str = AGENT_USER) -> Probe:
    return Probe(id=id, description=description, command=Command(script=script, user=user, timeout_s=TIMEOUT_S))


async def _run(container: Container, planned: Probe) -> ProbeResult:
    result = await container.run(planned.command)
    status = f"cut short: {result.limit}" if result.limit else f"exit code {result.exit_code}"
    output = result.output if result.ok else f"{result.output[-OUTPUT:].rstrip()}\n[{status}]".lstrip()
    return ProbeResult(id=planned.id, description=planned.description, ok=result.ok, output=output[-OUTPUT - 40 :])


def _paths_script(manifest: Manifest) -> str:
    checks = [f"[ -e {shlex.quote(file.path)} ] || missing {shlex.quote(file.path)}" for file in manifest.files]
    checks += [f"[ -d {shlex.quote(path)} ] || missing {shlex.quote(path)}" for path in manifest.directories]
    return "\n".join(['status=0; missing() { echo "missing: $1"; status=1; }', *checks, "exit $status"])
