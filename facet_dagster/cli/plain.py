"""Text of models, builds and foreign tests on its way to the terminal: it is shown, never obeyed."""

from rich.markup import escape


def plain(text: str) -> str:
    """The text as rich markup for itself, without what a terminal would act on; lines stay lines."""
    return escape("".join(_kept(character) for character in text))


def _kept(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if character.isspace() else ""
