"""What the seeds of a plan look like: how alike kept and refused candidates are, as a PNG for an asset's page."""

from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from facet_dagster.drawing import png_of
from facet_dagster.records.seed import Candidate

BINS = 20
_GREEN, _GREY = "#54a24b", "#bab0ac"


def similarity_png(candidates: Sequence[Candidate]) -> bytes:
    """Judged candidates by similarity, the kept ones in front."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    values = [[c.similarity for c in candidates if c.kept], [c.similarity for c in candidates if not c.kept]]
    labels = [f"kept ({len(values[0])})", f"refused ({len(values[1])})"]
    if candidates:
        axes.hist(values, bins=BINS, stacked=True, color=[_GREEN, _GREY], label=labels)
        axes.legend(frameon=False)
    axes.set_xlabel("cosine of the hypotheses")
    axes.set_ylabel("candidates")
    axes.set_title("How alike judged candidates are")
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure)
