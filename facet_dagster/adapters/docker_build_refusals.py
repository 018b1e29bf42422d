"""What of a Dockerfile is not even begun: an ADD by which the engine would fetch from its own machine or network.

The engine itself fetches what ADD names, with all that it can reach. What RUN fetches comes from inside a container.
"""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_ADD = re.compile(r"^[ \t]*(?:ONBUILD[ \t]+)?ADD[ \t]+(.*)$", re.IGNORECASE | re.MULTILINE)
_CONTINUED = re.compile(r"\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_ADDRESS = re.compile(r"https?://[^\s\"',\]]*", re.IGNORECASE)


def refusal(dockerfile: str) -> str | None:
    """Why it is not built; None where nothing speaks against it. A name that leads inside is not found out."""
    for added in _ADD.findall(_CONTINUED.sub(" ", dockerfile)):
        if added.lstrip().startswith("$") and "://" not in added:
            return f"ADD {added.strip()[:200]}: what is added must be spelt out, not put together from variables."
        for address in _ADDRESS.findall(added):
            if not _is_public(address):
                return f"ADD {address[:200]} is not allowed: the engine would fetch it from its own network."
    return None


def _is_public(address: str) -> bool:
    """Whether an address is spelt out and belongs to the public internet: a name with a dot, or a global number."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    if "$" in address.partition("://")[2].partition("/")[0]:
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        labels = host.rstrip(".").split(".")
        # A name whose last part is a number is a number in another spelling (0x7f.1, 2130706433).
        return len(labels) > 1 and not labels[-1][:1].isdigit() and labels[-1] not in {"localhost", "local", "internal"}
