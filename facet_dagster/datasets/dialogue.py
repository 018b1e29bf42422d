"""A trial as dialogues, one per context: messages as they were held, and which of them are trained on.

Each hand-over ends a dialogue and begins the next, with the opening and what was handed over. So nothing but what the
model really saw stands before what it wrote, and every turn stands in one dialogue. The assistant's text is exactly
what the model wrote. Does not belong here: files and formats.
"""

from collections.abc import Iterable

from facet_dagster.records.rollout import REBUILT, Trial, Turn


def contexts_of(trial: Trial) -> tuple[int, ...]:
    """The contexts in which the model took a turn; of a trial without any turn the first, so that it is counted."""
    return tuple(sorted({turn.context for turn in trial.turns})) or (0,)


def turns_of(trial: Trial, context: int) -> tuple[Turn, ...]:
    """The turns of one context."""
    return tuple(turn for turn in trial.turns if turn.context == context)


def messages_of(trial: Trial, context: int) -> list[dict[str, str]]:
    """{role, content} of user and assistant in turns, from the opening to the last thing that the model wrote."""
    said = [(turn.prompt, turn.raw) for turn in turns_of(trial, context)]
    handed = [(trial.turns[0].prompt, each.text) for each in trial.handovers if each.context == context]
    return [
        {"role": role, "content": text}
        for pair in (*handed, *said)
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]


def loss_mask_of(trial: Trial, context: int, *, mask_parse_errors: bool) -> list[bool]:
    """For each of `messages_of`, whether it is trained on: what the model wrote, or only what was understood of it.

    Never a hand-over, which is put together from helper calls, and never a reply that was cut off at the length limit:
    a trainer puts the end mark behind it, which the model did not write.
    """
    trained = [
        turn.finish_reason != "length" and not (mask_parse_errors and turn.parse_error is not None)
        for turn in turns_of(trial, context)
    ]
    handed = [False for each in trial.handovers if each.context == context]
    return [flag for train in (*handed, *trained) for flag in (False, train)]


def not_as_held(trial: Trial, context: int) -> str | None:
    """Why the dialogue of a context is not the one that was held; None where it is."""
    for turn in turns_of(trial, context):
        if REBUILT in turn.warnings:
            return f"turn {turn.number}: {REBUILT}"
    if context and trial.engine == "harbor":
        return f"of the start of context {context} Harbor keeps no more than its last prompt"
    return None


def own_text(turns: Iterable[Turn]) -> str:
    """All that the model wrote."""
    return "\n".join(turn.raw for turn in turns)


def typed(turn: Turn) -> str:
    """The keys of a turn as the terminal got them: one stream, whatever commands they came in."""
    return "".join(command.keystrokes for command in turn.commands)


def parse_clean(turns: Iterable[Turn]) -> bool:
    """Whether every turn was understood."""
    return all(turn.parse_error is None for turn in turns)
