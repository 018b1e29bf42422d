"""Literal quotations: whether a passage stands in a text. White space does not count.

Shared by all who must cite: clauses of an instruction, evidence of a diagnosis, of an explanation.
"""

SHORTEST = 12  # characters of evidence; a shorter quotation would be found by chance


def squeezed(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def stands_in(quote: str, text: str) -> bool:
    """Whether the passage occurs in the text, word for word."""
    return squeezed(quote) in squeezed(text)
