"""Text without meaning and of any length, always the same for the same key; and skills made of it."""

import json
import random
from collections.abc import Iterator

_VOCABULARY = """
the a of and to in is that it for on with as this by from or at an be are was which have has not but all one
when where each every before after while then there these those into over under about between during report
table column entry record value total daily weekly region order price stock ledger archive backup schedule
merge filter sort count compare convert extract validate rename split join group clean check collect measure
format header field row line file folder path script command option result output input source target system
service request response message error warning update release version branch change review test build note
budget invoice customer supplier shipment warehouse sensor station route vehicle parcel delivery contract
employee team shift payroll leave meeting agenda minutes decision policy risk audit finding control owner
"""
_WORDS = _VOCABULARY.split()


def prose(key: str, characters: int) -> str:
    """Sentences, about so many characters."""
    source, sentences, length = random.Random(key), list[str](), 0
    while length < characters:
        sentence = " ".join(source.choices(_WORDS, k=source.randint(8, 16))).capitalize() + "."
        sentences.append(sentence)
        length += len(sentence) + 1
    return " ".join(sentences)


def dump_of_skills(count: int) -> Iterator[str]:
    """Lines of a JSONL dump (sources/dump.py) with so many valid skills that are no copies of one another."""
    for number in range(count):
        name = f"{'-'.join(random.Random(number).sample(_WORDS[40:], 3))}-{number}"
        body = "\n\n".join(
            f"{step}. {prose(f'{number} {step}', 220)}\n\n```bash\nsort -u table_{step}.csv > sorted_{step}.csv\n```"
            for step in range(1, 6)
        )
        front = f"name: {name}\ndescription: {prose(f'about {number}', 160)}\nlicense: MIT"
        text = f"---\n{front}\n---\n\n# {name}\n\n{body}\n"
        row = {"repo": f"simulated/{number % 97}", "path": f"skills/{name}/SKILL.md", "licence": "MIT", "text": text}
        yield json.dumps(row) + "\n"
