"""Refuses skills that need somebody's account, keys, money or machine: no sealed container has those.

Only what is clear counts: a log-in step, a cloud credential used again and again, a key sent as a bearer, a wallet,
a host in a private network, one remote service called again and again. Naming a variable once is not enough.
"""

import re
from collections import Counter

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal, excerpt

SERVICE_CALLS = 4
"""Addresses of one remote API from which a skill lives on it; one or two may be a link to its documentation."""

# What it is, how often it must stand there, words without which no hit can be, and the whole.
_SIGNS: tuple[tuple[str, int, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "logs in to an account",
        1,
        ("gh auth status", "az login", "aws configure", "aws sso login", "gcloud auth", " auth login"),
        re.compile(r"\b(?:gh auth status|az login|aws (?:configure|sso login)|gcloud auth|[a-z]\w+ auth login)\b"),
    ),
    (
        "uses cloud credentials",
        3,
        ("DefaultAzureCredential", "from_connection_string", "boto3."),
        re.compile(r"DefaultAzureCredential|from_connection_string|boto3\.(?:client|resource)"),
    ),
    ("handles a wallet", 10, ("allet", "ainnet"), re.compile(r"\b[Ww]allet\b|\b[Mm]ainnet\b")),
    (
        "names a host in a private network",
        1,
        ("ailscale",),
        re.compile(r"[Tt]ailscale[^\n]{0,80}\b100\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"),
    ),
)
_BEARER = re.compile(r"authorization: ?bearer|bearer \$\{?\w|x-api-key[\"']?\s*:")  # in lower case
_SERVICE_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*(?:API_KEY|_TOKEN|_SECRET|ACCESS_KEY)\b")
_HERE = r"(?!localhost|127\.|0\.0\.0\.0|[\w.-]*example\.)"
_REMOTE = re.compile(rf"https?://{_HERE}[\w.-]+")
_SERVICE = re.compile(rf"https?://{_HERE}(api\.[a-z][\w.-]*|[a-z][\w-]*(?:\.[\w-]+)+(?=/api/|/mcp/))")


def screen_access(text: str) -> Refusal | None:
    """Refuse when the skill cannot work without private access; the evidence quotes the first sign."""
    for what, least, words, sign in _SIGNS:
        hits = sign.findall(text) if any(word in text for word in words) else []
        if len(hits) >= least:
            times = f" ({len(hits)} times)" if least > 1 else ""
            return Refusal(SkillFault.NEEDS_PRIVATE_ACCESS, f"{what}: {excerpt(hits[0], 80)}{times}")
    lowered = text.lower()
    # The cheapest question first: few texts name a bearer at all.
    if ("bearer" in lowered or "x-api-key" in lowered) and _BEARER.search(lowered) and _REMOTE.search(text):
        key = _SERVICE_KEY.search(text)
        if key:
            evidence = f"sends a private key to a service: {excerpt(key.group(), 60)}"
            return Refusal(SkillFault.NEEDS_PRIVATE_ACCESS, evidence)
    for host, times_named in Counter(_SERVICE.findall(text)).most_common(1):
        if times_named >= SERVICE_CALLS:
            evidence = f"works on a remote service: {host} ({times_named} addresses)"
            return Refusal(SkillFault.NEEDS_PRIVATE_ACCESS, evidence)
    return None
