"""What all pictures share: a figure as PNG, and names of others made fit to be drawn. What is drawn is the caller's."""

import io

from matplotlib.figure import Figure


def png_of(figure: Figure, dpi: int = 100) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def drawable(name: str, longest: int) -> str:
    """A name that can be drawn: no control characters, no formulas, at most `longest` characters of it."""
    text = "".join(character if character.isprintable() else "·" for character in name).replace("$", r"\$")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
