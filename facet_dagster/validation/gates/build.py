"""G1: a fresh container starts, its services serve, and what was expected of it holds when it is probed anew."""

from facet_dagster.ports import Container
from facet_dagster.records.environment import Probe, wait_for_services
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult
from facet_dagster.validation.evidence import at_limit
from facet_dagster.validation.examination import Examination, failed, passed

SAID = 500  # characters of what a probe printed


async def build(exam: Examination) -> GateResult:
    """The image is there: whoever hands the task in has built it. Here it is started and probed."""
    probes = exam.candidate.probes
    async with exam.sandbox.open(exam.spec("probe")) as container:
        waited = await container.run(wait_for_services())
        if not waited.ok:
            said = waited.output.strip()[:SAID]
            evidence = (
                f"the services of the container do not come up within {wait_for_services().timeout_s:g} s\n{said}"
            )
            return failed(Gate.BUILD, 1, evidence, Reason.PROBE_FAILED, Component.ENVIRONMENT)
        broken = [line for probe in probes if (line := await _broken(container, probe))]
    if broken:
        evidence = "expected properties do not hold:\n" + "\n".join(broken)
        return failed(Gate.BUILD, 1, evidence, Reason.PROBE_FAILED, Component.ENVIRONMENT)
    held = "1 probe holds" if len(probes) == 1 else f"{len(probes)} probes hold"
    return passed(Gate.BUILD, 1, f"a fresh container starts; {held}")


async def _broken(container: Container, probe: Probe) -> str | None:
    """What a probe says that does not hold."""
    result = await container.run(probe.command)
    if result.ok:
        return None
    how = f"cut short: {at_limit(result.limit, result.seconds)}" if result.limit else f"exit code {result.exit_code}"
    return f"- {probe.id} {probe.description}: {result.output.strip()[:SAID]} [{how}]"
