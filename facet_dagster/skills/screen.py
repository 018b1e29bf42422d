"""Decides whether a body is usable: large enough and safe.

Rules refuse only what is clear; what merely looks odd becomes a `flag:` note. Frequencies in the public corpus are
in the hundreds per 100,000, and most hits are security skills that quote an attack. Does not belong here: languages,
and what a terminal can act on (see actionable).
"""

import base64
import binascii
import re

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.hits import first_hit
from facet_dagster.skills.markdown import Body
from facet_dagster.skills.refusal import Refusal, excerpt

MIN_BODY = 100
"""Characters below which a body holds no procedure."""
LONG_BODY = 50_000
"""Characters above which a body has to be shortened for a prompt; noted."""
LONG_LINE = 8_000
PAYLOAD_REACH = 4_000
"""Characters before a pipe into a shell in which its payload is looked for."""

# Kind -> literals with which a hit begins, and the whole; in lower case.
_FLAGS = {
    "pipes a download into a shell": (
        ("curl", "wget", "eval ", "bash -c ", "sh -c "),
        re.compile(
            r"(?:\bcurl|\bwget)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b"
            r"|\b(?:eval|bash -c|sh -c) [\"']?\$\((?:curl|wget)"
        ),
    ),
    "wording that overrides instructions": (
        ("ignore ", "disregard ", "forget "),
        re.compile(
            r"\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your )?"
            r"(?:previous|prior|above|earlier|preceding) (?:instruction|prompt|rule|message)"
        ),
    ),
    "wording that hides things from the user": (
        ("do not ", "don't ", "never "),
        re.compile(
            r"\b(?:do not|don't|never)"
            r" (?:tell|inform|reveal to|mention (?:this |it )?to|disclose to|show [\w ,/]{0,60} to) (?:the )?user"
        ),
    ),
    "chat-template tokens": (
        ("<|", "[inst]", "[/inst]", "<<", "<system", "</system"),
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id)\|>"
            r"|\[/?inst\]|<</?sys>>|</?system(?:[-_]\w+)?>"
        ),
    ),
    "skips permission checks": (
        ("--dangerously-skip-permissions", "--yolo"),
        re.compile(r"--dangerously-skip-permissions|(?<![\w-])--yolo\b"),
    ),
    "an author's home folder": (
        ("/users/", "/home/"),
        re.compile(r"(?:/users/|/home/)(?!user|you|name|runner|ubuntu|\W)[a-z][\w.-]+/"),
    ),
}
_TO_SHELL = re.compile(r"\| ?base64 (?:-d|-D|--decode) ?\| ?(?:sudo )?(?:/\w+)*/?(?:ba|z|da)?sh\b")
_PAYLOAD = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_LOCKED_ARCHIVE = re.compile(
    r"https?://\S{1,300}\.(?:zip|rar|7z)\b[^\n]{0,200}(?:password|密码|passcode)[^\n]{0,200}\.(?:exe|msi|bat|scr|pkg|dmg)\b",
    re.IGNORECASE,
)


def flags(body: Body) -> tuple[str, ...]:
    """Notes on wording that a reader of this corpus wants to look at; no verdict."""
    lowered = body.text.lower()
    notes = [
        f"flag: {kind}: {excerpt(hit.group(), 60)}"
        for kind, (literals, rule) in _FLAGS.items()
        if (hit := first_hit(lowered, literals, rule))
    ]
    if len(body.text) > LONG_BODY:
        notes.append(f"flag: long body of {len(body.text)} characters")
    if max(map(len, body.text.split("\n"))) > LONG_LINE:
        notes.append("flag: a very long line, likely pasted or generated text")
    if not body.closed:
        notes.append("flag: a code fence is never closed")
    return tuple(notes)


def screen_safety(text: str) -> Refusal | None:
    """Refuse text that would run a hidden payload or an executable from a locked archive."""
    for shell in _TO_SHELL.finditer(text):
        line = text[max(0, shell.start() - PAYLOAD_REACH) : shell.start()].rsplit("\n", 1)[-1]
        if payloads := _PAYLOAD.findall(line):
            shown = _decoded(payloads[-1])
            return Refusal(SkillFault.UNSAFE, f"an encoded payload is decoded into a shell: {shown}")
    if locked := _LOCKED_ARCHIVE.search(text):
        return Refusal(SkillFault.UNSAFE, f"runs an executable out of a locked archive: {excerpt(locked.group(), 120)}")
    return None


def _decoded(payload: str) -> str:
    try:
        return excerpt(base64.b64decode(payload).decode("utf-8", errors="replace"), 80)
    except binascii.Error:
        return excerpt(payload, 40)


def screen_size(body: Body) -> Refusal | None:
    """Refuse a body with too little in it to be a procedure."""
    if len(" ".join(body.text[: 50 * MIN_BODY].split())) >= MIN_BODY:
        return None
    length = len(" ".join(body.text.split()))
    if length < MIN_BODY:
        return Refusal(SkillFault.EMPTY_BODY, f"the body has {length} characters: {excerpt(body.text, 80)}")
    return None
