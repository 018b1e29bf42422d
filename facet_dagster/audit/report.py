"""An audit's report as JSON and as one HTML page that needs nothing else and runs nothing.

Whatever a task says of itself is text: it is escaped, and unprintable halves of characters are replaced.
"""

import json
from pathlib import Path

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined

from facet_dagster.records.audit import AuditReport

TEMPLATE = Path(__file__).parent / "report.html.j2"


def as_json(report: AuditReport) -> bytes:
    """The report as docs/validate.md describes it."""
    return (json.dumps(report.as_json(), indent=2, ensure_ascii=True) + "\n").encode()


def as_html(report: AuditReport) -> bytes:
    """The report as a page for a browser."""
    jinja = Jinja(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters["percent"] = percent
    summary = report.summary()
    page = jinja.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        report=report, summary=summary, gates=[row.gate for row in summary.gates]
    )
    return page.encode(errors="replace")


def percent(rate: float | None) -> str:
    """A share as a person reads it; a rate that is not quite 1 never reads 100 %."""
    if rate is None:
        return "–"
    return f"{min(rate, 0.999 if rate < 1 else 1.0):.1%}".replace(".0%", "%")
