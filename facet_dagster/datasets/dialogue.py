"""A trial as a dialogue: its messages as they were held, and which of them are trained on.

The assistant's text stands exactly as the model wrote it. Does not belong here: files and formats.
"""

from facet_dagster.records.rollout import Trial


def messages_of(trial: Trial) -> list[dict[str, str]]:
    """{role, content} in turns of user and assistant, from the opening to the last thing that the model wrote."""
    pairs = (
        ({"role": "user", "content": turn.prompt}, {"role": "assistant", "content": turn.raw}) for turn in trial.turns
    )
    return [message for pair in pairs for message in pair]


def loss_mask_of(trial: Trial, *, mask_parse_errors: bool) -> list[bool]:
    """For each of `messages_of`, whether it is trained on: all that the model wrote, or only what was understood."""
    trained = (not (mask_parse_errors and turn.parse_error is not None) for turn in trial.turns)
    return [flag for train in trained for flag in (False, train)]


def own_text(trial: Trial) -> str:
    """All that the model wrote."""
    return "\n".join(turn.raw for turn in trial.turns)


def parse_clean(trial: Trial) -> bool:
    """Whether every turn was understood."""
    return all(turn.parse_error is None for turn in trial.turns)
