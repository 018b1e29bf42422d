"""Masks strings that look like secrets, before any other step, log, prompt or record sees them.

Whether a string is a live secret is never tested. Does not belong here: other safety rules (see screen).
"""

import re

from facet_dagster.skills.hits import find_hits, replace_hits

# Kind -> literals that it begins with, and the whole.
_KINDS: dict[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    "private key": (
        ("-----BEGIN ",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{20,}?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ),
    "API key": (
        ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"),
        re.compile(r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,20}[-_]){0,4}[A-Za-z0-9]{20,}"),
    ),
    "GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ),
    "AWS key": (("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    "Google key": (("AIza",), re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    "Slack token": (("xox",), re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    "JSON web token": (
        ("eyJ",),
        re.compile(r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{5,}"),
    ),
    "password in an address": (
        ("://",),
        re.compile(r"://(?P<value>[^\s/:@\"'`<>$\{]{1,64}:[^\s/@\"'`<>$\{]{6,})(?=@)"),
    ),
}
# Looked for in lower case; the value is taken from the text itself.
_NAMES = ("api_key", "api-key", "apikey", "secret", "token", "password", "passwd")
_ASSIGNED = re.compile(
    r"(?<![a-z])(?:api[_-]?key|secret|token|password|passwd)[\"']?\s*[:=]\s*[\"']?"
    r"(?P<value>(?=[a-z0-9+/_-]*\d)(?=[a-z0-9+/_-]*[a-z])[a-z0-9+/_-]{24,})"
)
_PLACEHOLDER = re.compile(
    r"(?i)your|example|placeholder|changeme|change[-_]me|dummy|sample|redacted|masked|removed|fake|xxx|\*\*\*"
    r"|\.\.\.|abcdef|123456|user(?:name)?:pass|password|secret(?:@|$)|(.)\1{5}"
)


def mask_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without secret-like strings, and one note per kind. Obvious placeholders stay as they are."""
    notes = []
    for kind, (literals, rule) in _KINDS.items():
        text, masked = _mask(text, text, kind, literals, rule)
        if masked:
            notes.append(_note(kind, masked))
    lowered = text.replace("\u0130", "i").lower()  # the one letter whose lower case is longer
    text, masked = _mask(text, lowered, "assigned secret", _NAMES, _ASSIGNED)
    if masked:
        notes.append(_note("assigned secret", masked))
    return text, tuple(notes)


def _mask(text: str, seen: str, kind: str, literals: tuple[str, ...], rule: re.Pattern[str]) -> tuple[str, int]:
    masked = 0

    def change(match: re.Match[str]) -> str:
        nonlocal masked
        start, end = match.span("value" if rule.groupindex else 0)
        value = text[start:end]
        if kind != "private key" and _PLACEHOLDER.search(value):
            return text[match.start() : match.end()]
        masked += 1
        return f"{text[match.start() : start]}[{kind} removed]{text[end : match.end()]}"

    return replace_hits(text, find_hits(seen, literals, rule), change), masked


def _note(kind: str, masked: int) -> str:
    return f"masked: {masked} secret-like string{'s' if masked > 1 else ''} ({kind})"
