"""Masks strings that look like secrets, before any other step, log, prompt or record sees them.

Whether a string is a live secret is never tested. Does not belong here: other safety rules (see screen).
"""

import re

_KINDS = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{20,}?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    "API key": re.compile(r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,20}[-_]){0,4}[A-Za-z0-9]{20,}"),
    "GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    "AWS key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "Google key": re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{5,}"),
    "password in an address": re.compile(r"(?<=://)[^\s/:@\"'`<>$\{]{1,64}:[^\s/@\"'`<>$\{]{6,}(?=@)"),
    "assigned secret": re.compile(
        r"(?i)(?<![a-z])(?:api[_-]?key|secret|token|password|passwd)[\"']?\s*[:=]\s*[\"']?"
        r"(?=[a-z0-9+/_-]*\d)(?=[a-z0-9+/_-]*[a-z])[a-z0-9+/_-]{24,}"
    ),
}
_PLACEHOLDER = re.compile(
    r"(?i)your|example|placeholder|changeme|change[-_]me|dummy|sample|redacted|masked|removed|fake|xxx|\*\*\*"
    r"|\.\.\.|abcdef|123456|user(?:name)?:pass|password|secret(?:@|$)|(.)\1{5}"
)


def mask_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without secret-like strings, and one note per kind. Obvious placeholders stay as they are."""
    notes = []
    for kind, pattern in _KINDS.items():
        masked = 0

        def replace(match: re.Match[str], kind: str = kind) -> str:
            nonlocal masked
            value = re.split(r"[:=]\s*[\"']?", match.group())[-1] if kind == "assigned secret" else match.group()
            if kind != "private key" and _PLACEHOLDER.search(value):
                return match.group()
            masked += 1
            return match.group().replace(value, f"[{kind} removed]")

        text = pattern.sub(replace, text)
        if masked:
            notes.append(f"masked: {masked} secret-like string{'s' if masked > 1 else ''} ({kind})")
    return text, tuple(notes)
