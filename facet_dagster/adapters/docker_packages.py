"""Whether packages can be had at all: the control beside a build that failed.

A mirror that is away fails every build that wants a package, and no author can repair that. What the failed build
itself printed is its own word; so the same is asked of a Dockerfile that is known to be right. Belongs here: that
Dockerfile, and what its log says. Building it is docker_builder.py's.
"""

import re
from uuid import uuid4

from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult

CONTROL_S = 180.0  # for a package of a few kilobytes
_DECLARED = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT")
_HEAD = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n" + "".join(f"ARG {name}\n" for name in _DECLARED)
_FETCHES = {
    re.compile(r"\bapt(-get)?\b"): "apt-get update && cd /tmp && apt-get download hello",
    # Said twice, it tells of errors that an index answers.
    re.compile(r"\bpip3?\b"): "python3 -m pip -vv download --no-cache-dir --no-deps --dest /tmp/control pip",
}
# An index need not hold the package that the control wants: only what says that nobody answered counts.
_NOBODY = re.compile(
    r"Temporary failure|Could not (resolve|connect)|Unable to connect|Failed to fetch|timed? ?out|unreachable"
    r"|[Cc]onnection (refused|reset)|NewConnectionError|Max retries|ProxyError|SSLError"
    r"|\b(429|5\d\d) (Client|Server) Error"
)


def control_of(failed: BuildRequest) -> BuildRequest | None:
    """A build that fetches one small package from wherever the failed one fetches; None where that is nowhere."""
    fetches = [f"RUN {fetch}\n" for names, fetch in _FETCHES.items() if names.search(failed.dockerfile)]
    if not fetches:
        return None
    dockerfile = _HEAD + "".join(fetches)
    return BuildRequest(seed=failed.seed, dockerfile=dockerfile, context=(), timeout_s=CONTROL_S, fresh=uuid4().hex)


def outage(control: BuildResult) -> str | None:
    """What keeps packages away, in a line; None where the control got them, or was told that there are none."""
    if control.fault is BuildFault.LIMIT:
        return f"nothing came in {CONTROL_S:g} s"
    if control.ok:
        return None
    return next((line.strip()[:300] for line in control.log.splitlines() if _NOBODY.search(line)), None)
