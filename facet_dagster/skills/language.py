"""Tells English from other languages by script and function words, on prose outside code.

A guess on purpose: no model, no data file, and only two answers are needed. Measured share of other languages in the
public corpus: 20%, nearly all in other scripts. Does not belong here: what is done with the answer.
"""

import re
import unicodedata

FOREIGN_SHARE = 0.15
"""Share of non-Latin letters above which a text is not English. One Chinese character weighs as much as three Latin
letters, and translated skills keep their English terms, hence the low limit."""
MIN_WORDS = 40
"""Fewer function words than this decide nothing between two Latin languages."""

_WORDS = {
    "en": "the and of to in is for with that this or as be are it not when from your",
    "de": "der die und das ist nicht mit für ein eine den von zu auf werden oder wenn sie",
    "fr": "le la les des et est pour dans une que pas sur avec vous du au ou sont",
    "es": "el los las y es para con una que del por como no se en tu si más",
    "pt": "o os as e é para com uma que do da em não por se ou mais seu",
    "it": "il gli di e è per con una che del non si in come della sono tuo più",
}
_SETS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = (
    ("CJK", "zh"),
    ("HIRAGANA", "ja"),
    ("KATAKANA", "ja"),
    ("HANGUL", "ko"),
    ("CYRILLIC", "ru"),
    ("ARABIC", "ar"),
)


def language_of(prose: str) -> str:
    """An ISO 639-1 code: `en`, a guess at another, or `und` for an unnamed script."""
    letters = [char for char in prose if char.isalpha()]
    foreign = [char for char in letters if ord(char) > 0x24F and not unicodedata.name(char, "").startswith("LATIN")]
    if letters and len(foreign) / len(letters) > FOREIGN_SHARE:
        return _script(foreign)
    words = [word.lower() for word in _WORD.findall(prose)]
    counts = {language: sum(1 for word in words if word in known) for language, known in _SETS.items()}
    best = max(counts, key=lambda language: (counts[language], language == "en"))
    return best if counts[best] >= MIN_WORDS and counts[best] > 1.5 * counts["en"] else "en"


def _script(foreign: list[str]) -> str:
    names = [unicodedata.name(char, "") for char in foreign[:2000]]
    # Japanese mixes Chinese characters with kana; a tenth of kana is enough to tell.
    kana = sum(1 for name in names if name.startswith(("HIRAGANA", "KATAKANA")))
    if kana * 10 >= len(names):
        return "ja"
    counted = {code: sum(1 for name in names if name.startswith(prefix)) for prefix, code in _SCRIPTS}
    best = max(counted, key=lambda code: counted[code])
    return best if counted[best] * 2 >= len(names) else "und"
