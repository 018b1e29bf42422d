"""Reading what controls are made of out of the containers: the contents of the outputs in e0 and in eT.

For a task that does not tell what its solution changes, the observation is made here too.
"""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from facet_dagster.errors import NotObservable
from facet_dagster.ports import Container
from facet_dagster.records.authoring import E0_COPIES
from facet_dagster.records.container import Command
from facet_dagster.records.environment import ObservedState
from facet_dagster.validation.controls import MAX_CONTENT, Facts, unchanged_files
from facet_dagster.validation.examination import Examination, Solved
from facet_dagster.validation.outputs import Subject, subjects, whatever_was_made

# What the observer needs inside.
_CAN_OBSERVE = 'python3 -c "import sys; sys.exit(sys.version_info < (3, 10))"'
_TAR = "/facet-control.tar"


async def look_at_e0(exam: Examination, container: Container) -> None:
    """Observe e0 in a fresh container, where the task does not tell it and it is needed."""
    if not exam.controls_max or exam.e0 is not None:
        return
    able = await container.run(Command(script=_CAN_OBSERVE, user="root", workdir="/"))
    if able.ok:
        exam.e0 = await _observed(exam, container)
    else:
        exam.unobserved = "the image has no Python of 3.10 or later"


async def look_at_solved(exam: Examination, container: Container) -> None:
    """After the solution: what changed, which of it are outputs, and their contents."""
    task, e0 = exam.candidate, exam.e0
    if not exam.controls_max or e0 is None:
        return
    diff = task.diff
    if diff is None:
        solved = await _observed(exam, container)
        if solved is None:
            return
        diff = exam.difference(e0, solved)
    stated = "\n".join([task.instruction, *(task.contract.clauses.values() if task.contract else ())])
    named = subjects(diff, stated, task.workdir)
    # That a task of ours names none must not mean that nothing is demanded.
    chosen = (named or (whatever_was_made(diff) if task.contract else ()))[: 2 * exam.controls_max]
    after = {}
    for subject in chosen:
        content = await _content(container, subject)
        if content is not None:
            after[subject.path] = content
    unchanged = unchanged_files(e0, {change.path for change in diff.files})
    exam.solved = Solved(subjects=chosen, facts=Facts(after=after, unchanged=unchanged), named=bool(named))


async def _observed(exam: Examination, container: Container) -> ObservedState | None:
    """What the container holds; None where it cannot be told, which is no trouble for the tests."""
    try:
        return await exam.observe(container, exam.candidate.workdir)
    except NotObservable as trouble:
        exam.unobserved = str(trouble)
        return None


async def contents_in_e0(exam: Examination, chosen: Sequence[Subject]) -> dict[str, bytes]:
    """What changed and removed outputs were. Tests of ours carry most of it; a container is started for the rest."""
    carried = {f.path.removeprefix(E0_COPIES): f.data() for f in exam.candidate.tests if f.path.startswith(E0_COPIES)}
    found = {s.path: carried[s.path] for s in chosen if s.path in carried and s.change.before is not None}
    missing = [s for s in chosen if s.change.before is not None and s.path not in found]
    if missing:
        async with exam.sandbox.open(exam.spec("originals")) as container:
            for subject in missing:
                content = await _content(container, subject)
                if content is not None:
                    found[subject.path] = content
    return found


async def _content(container: Container, subject: Subject) -> bytes | None:
    """A file's bytes, one more than the bound where there are more; a repository as a tar archive."""
    if not subject.repository:
        return await container.read(subject.path, max_bytes=MAX_CONTENT + 1)
    path = PurePosixPath(subject.path)
    packed = f"tar --sort=name -cf {_TAR} -C {shlex.quote(str(path.parent))} {shlex.quote(path.name)}"
    made = await container.run(Command(script=packed, user="root", workdir="/"))
    content = await container.read(_TAR, max_bytes=4 * MAX_CONTENT + 1) if made.ok else None
    await container.run(Command(script=f"rm -f {_TAR}", user="root", workdir="/"))
    return content if content is not None and len(content) <= 4 * MAX_CONTENT else None
