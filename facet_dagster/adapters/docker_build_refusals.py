"""What of a Dockerfile is not even begun: an ADD by which the engine would fetch from its own machine or network.

The engine itself fetches what ADD names, with all that it can reach. What RUN fetches comes from inside a container.
"""

import json
import re
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

_ADD = re.compile(r"(?:ONBUILD\s+)?ADD\s+(?:--\S*\s+)*(.*)", re.IGNORECASE | re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)\\[ \t]*$")
_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S*)", re.IGNORECASE)
_NO_SPACE = dict.fromkeys(range(0x1C, 0x20), "?")  # separators that are white space here and not for the engine


def refusal(dockerfile: str) -> str | None:
    """Why it is not built; None where nothing speaks against it. A name that leads inside is not found out."""
    lines = [line.removesuffix("\r") for line in dockerfile.removeprefix("\ufeff").translate(_NO_SPACE).split("\n")]
    if _escapes_otherwise(lines):
        return "# escape is not allowed: lines are continued with a backslash."
    for source in (source for instruction in _instructions(lines) for source in _sources(instruction)):
        if "$" in source or "\\" in source:
            return f"ADD {source[:200]}: what is added must be spelt out, without variables and backslashes."
        address = re.sub("[\"']", "", source)  # as the engine does
        if address.lower().startswith(("http://", "https://")) and not _is_public(address):
            return f"ADD {address[:200]} is not allowed: the engine would fetch it from its own network."
    return None


def _escapes_otherwise(lines: list[str]) -> bool:
    """Whether a comment above the first instruction makes something else of the backslash."""
    for line in map(str.strip, lines):
        said = _ESCAPE.match(line)
        if said and said[1] != "\\":
            return True
        if line and not line.startswith("#"):
            return False
    return False


def _instructions(lines: list[str]) -> Iterator[str]:
    """Each on one line, joined as the engine does: with nothing between; blank lines and comments end nothing."""
    joined = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cut = _CONTINUED.sub("", line)
        joined += cut
        if cut == line:
            yield joined.strip()
            joined = ""
    yield joined.strip()


def _sources(instruction: str) -> list[str]:
    """What an ADD names without its destination, in either form; nothing for other instructions."""
    added = _ADD.match(instruction)
    if added is None:
        return []
    words = added[1].split()[:-1]
    try:
        listed, end = json.JSONDecoder().raw_decode(added[1])
    except (ValueError, RecursionError):
        return words
    if not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
        return words
    # Engines differ in whether what stands behind a list makes words of it.
    return [*listed[:-1], *(words if added[1][end:].strip() else ())]


def _is_public(address: str) -> bool:
    """Whether an address is spelt out and belongs to the public internet: a name with a dot, or a global number."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    if not host.isascii():  # letters that the engine may read as others
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        labels = host.rstrip(".").split(".")
        # A name whose last part is a number is a number in another spelling (0x7f.1, 2130706433).
        return len(labels) > 1 and not labels[-1][:1].isdigit() and labels[-1] not in {"localhost", "local", "internal"}
