"""The same materials built again: for the first build and whenever an image is gone."""

from facet_dagster.environment.dockerfile import build_context, render_dockerfile
from facet_dagster.ports import ImageBuilder
from facet_dagster.records.container import BuildRequest, BuildResult, Limits
from facet_dagster.records.environment import Environment, Materials


def build_request(seed_id: str, materials: Materials, limits: Limits, build_timeout_s: float) -> BuildRequest:
    """The build of materials on the local base image."""
    return BuildRequest(
        seed=seed_id,
        dockerfile=render_dockerfile(materials, standalone=False),
        context=build_context(materials),
        timeout_s=build_timeout_s,
        limits=limits,
    )


async def rebuild(
    seed_id: str, environment: Environment, *, builder: ImageBuilder, limits: Limits, build_timeout_s: float
) -> BuildResult:
    """Build an environment's image again; equal materials give the same image reference."""
    return await builder.build(build_request(seed_id, environment.materials, limits, build_timeout_s))
