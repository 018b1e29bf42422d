"""The image of a stranger's task, built through the ImageBuilder port with the bounds that the task declares.

Nothing is judged here: what a build that fails means is decided in run.py.
"""

from collections.abc import Mapping

from facet_dagster.audit.dockerfile import buildable
from facet_dagster.audit.load import Loaded
from facet_dagster.ports import ImageBuilder
from facet_dagster.records.base import digest_of
from facet_dagster.records.container import BuildRequest, BuildResult, Limits
from facet_dagster.validation.candidate import Candidate

BUILD_S = 1_800.0
BUILD_MEMORY_MB, BUILD_DISK_MB = 4_096, 8_192  # Harbor bounds a build by time only


async def build_image(
    task: Loaded,
    candidate: Candidate,
    *,
    builder: ImageBuilder,
    stand_ins: Mapping[str, str],
    purpose: str = "validate",
) -> BuildResult:
    """Build the task's Dockerfile; the image belongs to this task and purpose alone. Raises InfrastructureError."""
    mark = f"facet {purpose} {digest_of(str(task.path))[:16]}"
    variables = "".join(f"\nENV {name}={_quoted(value)}" for name, value in task.env.items())
    request = BuildRequest(
        seed=task.name,
        dockerfile=buildable(candidate.dockerfile.rstrip() + variables, stand_ins, mark),
        context=candidate.context,
        timeout_s=min(task.build_timeout_s, BUILD_S),
        limits=Limits(
            cpus=candidate.limits.cpus,
            memory_mb=max(candidate.limits.memory_mb, BUILD_MEMORY_MB),
            disk_mb=max(candidate.limits.disk_mb, BUILD_DISK_MB),
            pids=candidate.limits.pids,
        ),
    )
    return await builder.build(request)


def _quoted(value: str) -> str:
    for character in ("\\", '"', "$"):
        value = value.replace(character, f"\\{character}")
    return f'"{value}"'
