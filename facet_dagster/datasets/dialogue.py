"""A trial as a dialogue: its messages as they were held, and which of them are trained on.

The assistant's text stands exactly as the model wrote it. Of a trial that was handed over to a new context, the
dialogue is that of the last context, which alone saw the end. Does not belong here: files and formats.
"""

from facet_dagster.records.rollout import Trial, Turn


def messages_of(trial: Trial) -> list[dict[str, str]]:
    """{role, content} in turns of user and assistant, from the opening to the last thing that the model wrote."""
    said = [(turn.prompt, turn.raw) for turn in _last_context(trial)]
    if trial.handovers:
        said.insert(0, (trial.turns[0].prompt, trial.handovers[-1].text))
    return [
        {"role": role, "content": text} for pair in said for role, text in zip(("user", "assistant"), pair, strict=True)
    ]


def loss_mask_of(trial: Trial, *, mask_parse_errors: bool) -> list[bool]:
    """For each of `messages_of`, whether it is trained on: all that the model wrote, or only what was understood.

    A hand-over is put together from helper calls and never trained on.
    """
    trained = [not (mask_parse_errors and turn.parse_error is not None) for turn in _last_context(trial)]
    if trial.handovers:
        trained.insert(0, False)
    return [flag for train in trained for flag in (False, train)]


def own_text(trial: Trial) -> str:
    """All that the model wrote."""
    return "\n".join(turn.raw for turn in trial.turns)


def parse_clean(trial: Trial) -> bool:
    """Whether every turn was understood."""
    return all(turn.parse_error is None for turn in trial.turns)


def _last_context(trial: Trial) -> list[Turn]:
    return [turn for turn in trial.turns if turn.context == len(trial.handovers)]
