"""Trouble: exceptions that say whose fault it was and whether trying again can help.

    FacetError
    ├── SettingsError        the user: a setting, an argument, a folder
    │   └── StoreTooNew      the store was written by a newer version
    ├── ModelError           the model's endpoint
    │   ├── ModelRefused     it will not answer: key, name, request
    │   │   └── TextRefused      it will not answer this; something else it may
    │   │       └── ContextOverflow  the dialogue is longer than the model's context
    │   ├── ModelUnavailable it did not answer after all retries
    │   └── NoRecording      the recorded model has no such answer
    ├── InfrastructureError  daemon, disk, host: never a verdict about a task
    │   ├── EngineUnavailable  no container engine can be reached
    │   └── NotObservable      what a container holds cannot be told
    ├── EngineLost           one of several engines died: the same again goes to another
    └── BudgetSpent          the tokens or money of the run, or of the day, are used up

A rejection is not trouble: see records/outcome.py. Messages are one line and say what to do.
"""


class FacetError(Exception):
    """Base of all trouble. `lasting` is what the same again would meet again: it waits for a person."""

    exit_code = 1
    lasting = False


class SettingsError(FacetError, ValueError):
    """Something the user gave is wrong; the message says what and what to write instead."""

    exit_code = 2


class StoreTooNew(SettingsError):
    """The store was written by a newer version of this program."""


class ModelError(FacetError):
    """The model's endpoint is at fault."""

    exit_code = 3


class ModelRefused(ModelError):
    """The endpoint refuses: wrong key, unknown model, malformed request."""


class TextRefused(ModelRefused):
    """The endpoint refuses what was said to it, or so it seems: a filter, a length, an argument it does not know."""

    lasting = True


class ContextOverflow(TextRefused):
    """The messages are more than the model can see at once."""


class ModelUnavailable(ModelError, ConnectionError):
    """The endpoint did not answer within the retries allowed."""


class NoRecording(ModelError, LookupError):
    """The recorded model holds no answer for this call."""

    lasting = True


class InfrastructureError(FacetError):
    """Daemon, disk or host failed; the task under work gets no verdict."""

    exit_code = 4


class EngineUnavailable(InfrastructureError, ConnectionError):
    """No container engine can be reached."""


class EngineLost(FacetError, ConnectionError):
    """One of several engines answers no longer; others do. No gate takes it for a verdict that could not be had."""

    exit_code = 4


ENGINE_TROUBLE = (InfrastructureError, EngineLost)  # whatever an engine, or one of several, may be in for


class NotObservable(InfrastructureError):
    """A container runs, but what it holds cannot be told; trying again does not help."""

    lasting = True


class BudgetSpent(FacetError):
    """The budget of the run or of the day is used up; what was made is kept."""

    exit_code = 5


def trouble_named(name: str, otherwise: type[FacetError]) -> type[FacetError]:
    """The class of trouble of that name, where it is one of the above."""
    known = globals().get(name)
    return known if isinstance(known, type) and issubclass(known, FacetError) else otherwise
