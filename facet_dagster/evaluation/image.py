"""The image in which a model works on a task: the task's own, with tmux where it has none.

What cannot be built is no verdict on any model: CannotPrepare says what a person should know of it.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from facet_dagster.audit.build import build_image
from facet_dagster.audit.load import Loaded
from facet_dagster.audit.run import first_line, in_image, not_built
from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import ImageBuilder, Sandbox
from facet_dagster.records.container import BuildRequest, Command, ContainerSpec
from facet_dagster.validation.candidate import Candidate

NEEDED = "command -v tmux >/dev/null && command -v base64 >/dev/null"
# Whichever package manager the image has; Harbor's agent installs tmux as well.
_INSTALL = """\
FROM {image}
USER root
RUN if command -v apt-get; then apt-get update && apt-get install -y --no-install-recommends tmux coreutils; \\
    elif command -v apk; then apk add --no-cache tmux bash coreutils ncurses-terminfo-base; \\
    elif command -v dnf; then dnf install -y tmux coreutils; \\
    elif command -v yum; then yum install -y tmux coreutils; \\
    elif command -v zypper; then zypper --non-interactive install tmux coreutils; \\
    elif command -v pacman; then pacman -Sy --noconfirm tmux coreutils; \\
    else echo "no package manager"; exit 1; fi
"""


class CannotPrepare(Exception):
    """The task cannot be worked on; one line that says why. Never leaves the evaluation."""


@asynccontextmanager
async def prepared(
    task: Loaded, candidate: Candidate, *, builder: ImageBuilder, sandbox: Sandbox, stand_ins: Mapping[str, str]
) -> AsyncIterator[Candidate]:
    """The task in an image with a terminal; its images are removed in the end.

    Raises CannotPrepare, and InfrastructureError where the engine fails.
    """
    made: list[str] = []
    try:
        built = await build_image(task, candidate, builder=builder, stand_ins=stand_ins, purpose="evaluate")
        if not built.ok:
            raise CannotPrepare(first_line(not_built(built).evidence))
        made.append(built.image)
        placed = in_image(candidate, built, task)
        spec = ContainerSpec(image=placed.image, seed=task.name, purpose="evaluate", limits=placed.limits)
        if not await _has_terminal(spec, sandbox):
            placed = replace(placed, image=await _with_terminal(placed, builder))
            made.append(placed.image)
        yield placed
    finally:
        for image in reversed(made):
            with contextlib.suppress(InfrastructureError):  # what cannot be removed now is swept later
                await builder.remove(image)


async def _has_terminal(spec: ContainerSpec, sandbox: Sandbox) -> bool:
    async with sandbox.open(spec) as container:
        return (await container.run(Command(script=NEEDED, user="root", workdir="/"))).ok


async def _with_terminal(candidate: Candidate, builder: ImageBuilder) -> str:
    request = BuildRequest(
        seed=candidate.name,
        dockerfile=_INSTALL.format(image=candidate.image),
        context=(),
        limits=candidate.limits.model_copy(update={"memory_mb": max(2_048, candidate.limits.memory_mb)}),
    )
    built = await builder.build(request)
    if not built.ok:
        said = next((line.strip() for line in reversed(built.log.splitlines()) if line.strip()), "no output")
        raise CannotPrepare(f"the image has no tmux, and it cannot be installed: {said}")
    return built.image
