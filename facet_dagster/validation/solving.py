"""One run of a solution in a fresh container, and the file system that it left as an image to be graded.

What a failure means is decided by the gates.
"""

from collections.abc import Awaitable, Callable, Sequence

from facet_dagster.ports import Container
from facet_dagster.records.authoring import forget_solution, solve
from facet_dagster.records.container import CommandResult, FileEntry
from facet_dagster.validation.examination import Examination

Look = Callable[[Examination, Container], Awaitable[None]]


async def solve_and_freeze(
    exam: Examination,
    purpose: str,
    files: Sequence[FileEntry],
    *,
    before: Look | None = None,
    after: Look | None = None,
) -> tuple[CommandResult, str | None]:
    """Run solve.sh of `files` as the agent; the image, which the caller discards, is None where it failed.

    `before` and `after` look into the container on either side.
    """
    task = exam.candidate
    async with exam.sandbox.open(exam.spec(purpose)) as container:
        await exam.wait_until_served(container)
        if before is not None:
            await before(exam, container)
        await container.put(files, owner="root")
        solved = await container.run(solve(task.solve_timeout_s, user=task.user, workdir=task.workdir))
        if not solved.ok:
            return solved, None
        await container.run(forget_solution())
        if after is not None:
            await after(exam, container)
        return solved, await container.freeze()
