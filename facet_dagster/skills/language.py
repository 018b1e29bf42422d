"""Tells English from other languages by script and function words, on prose outside code.

A guess on purpose: no model, no data file, and only two answers are needed. Measured share of other languages in the
public corpus: 20%, nearly all in other scripts. Does not belong here: what is done with the answer.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

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
_SETS = {language: frozenset(words.encode().split()) for language, words in _WORDS.items()}
_TO_SPACES = bytes(code if code > 127 or chr(code).isalpha() else ord(" ") for code in range(256))
_BEYOND_LATIN = re.compile("[^\x00-\u024f]")
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
    if not prose.isascii():
        foreign = [char for char in _BEYOND_LATIN.findall(prose) if _foreign_letter(char)]
        # Letters are counted only where they can matter: there are at most as many as there are characters.
        beyond = len(foreign) > FOREIGN_SHARE * len(prose)
        if beyond or (foreign and len(foreign) / sum(map(str.isalpha, prose)) > FOREIGN_SHARE):
            return _script(foreign)
    words = Counter(prose.lower().encode("utf-8", errors="surrogatepass").translate(_TO_SPACES).split())
    counts = {language: sum(words[word] for word in known) for language, known in _SETS.items()}
    best = max(counts, key=lambda language: (counts[language], language == "en"))
    return best if counts[best] >= MIN_WORDS and counts[best] > 1.5 * counts["en"] else "en"


@lru_cache(1 << 16)
def _foreign_letter(char: str) -> bool:
    return char.isalpha() and not unicodedata.name(char, "").startswith("LATIN")


def _script(foreign: list[str]) -> str:
    counted = Counter(map(_language_of_letter, foreign[:2000]))
    # Japanese mixes Chinese characters with kana; a tenth of kana is enough to tell.
    if counted["ja"] * 10 >= counted.total():
        return "ja"
    best, count = counted.most_common(1)[0]
    return best if count * 2 >= counted.total() else "und"


@lru_cache(1 << 16)
def _language_of_letter(char: str) -> str:
    name = unicodedata.name(char, "")
    return next((code for prefix, code in _SCRIPTS if name.startswith(prefix)), "und")
