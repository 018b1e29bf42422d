"""One thing found by reading a task, with its place."""

from dataclasses import dataclass

from facet_dagster.records.outcome import Component


@dataclass(frozen=True)
class Finding:
    """`component` is who has to mend it."""

    component: Component
    place: str  # file, or file:line
    what: str

    def __str__(self) -> str:
        return f"- {self.place}: {self.what}"
