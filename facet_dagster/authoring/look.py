"""Letting an author look into a container before the answer: single commands, bounded, without network."""

from facet_dagster.ports import Container
from facet_dagster.prompts.ask import Look
from facet_dagster.records.container import AGENT_USER, Command, CommandResult

LOOK_TIMEOUT_S = 20.0


def look_into(container: Container, user: str = AGENT_USER) -> Look:
    """Runs one command at a time in `container`, which is thrown away afterwards."""

    async def look(script: str) -> CommandResult:
        return await container.run(Command(script=script, user=user, timeout_s=LOOK_TIMEOUT_S))

    return look
