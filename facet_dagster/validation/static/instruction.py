"""G0, the instruction: it does not hold the answer, neither an output's content nor the commands of the solution."""

from collections.abc import Iterator, Sequence

from facet_dagster.records.outcome import Component
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.static.finding import Finding

MANY = 5  # lines from which on a share of them is telling
SHARE = 0.6
LONG = 80  # characters from which on a short text is telling as a whole
_CUT = 400  # characters at which a sample ends


def instruction_findings(task: Candidate) -> Iterator[Finding]:
    """Outputs that were created, by the first lines that were kept of them, and solve.sh."""
    told = {" ".join(line.split()) for line in task.instruction.splitlines()}
    text = " ".join(task.instruction.split())
    for change in task.diff.files if task.diff else ():
        sample = change.after.sample if change.change == "added" and change.after else None
        if sample and _holds(text, told, sample.splitlines()[:-1] if len(sample) >= _CUT else sample.splitlines()):
            yield Finding(Component.INSTRUCTION, "instruction.md", f"it holds what {change.path} is to contain")
    for file in task.solution:
        script = file.data().decode(errors="replace").splitlines()
        commands = [line for line in script if not line.startswith(("#", "set -"))]  # what every script begins with
        if file.path.endswith("/solve.sh") and _holds(text, told, commands):
            yield Finding(Component.INSTRUCTION, "instruction.md", "it holds the commands of the solution")


def _holds(text: str, told: set[str], lines: Sequence[str]) -> bool:
    """The whole of a text that is not short, or most lines of one that has many."""
    squeezed = [" ".join(line.split()) for line in lines]
    telling = [line for line in squeezed if len(line) >= 8 and any(char.isalnum() for char in line)]
    if len(telling) >= MANY:
        return sum(line in told or line in text for line in telling) >= SHARE * len(telling)
    whole = " ".join(line for line in squeezed if line)
    return len(whole) >= LONG and whole in text
