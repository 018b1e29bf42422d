"""In which order waiting runs are started: Dagster's queue takes the highest first, equals as they came."""

# Repairs before new seeds: a seed that needs one more round has cost most of what it will cost already. Upkeep is
# short and would otherwise never have its turn while the line works; looking at old tasks again can wait.
HOLD, UPKEEP, REPAIRS, ROLLOUTS, NEW, LOOKING_AGAIN = 20, 15, 10, 5, 0, -5


def priority(value: int) -> dict[str, str]:
    """The tag by which Dagster's queue orders runs."""
    return {"dagster/priority": str(value)}
