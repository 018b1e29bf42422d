"""In which order waiting runs are started: Dagster's queue takes the highest first, equals as they came."""

# Repairs before new seeds: a seed that needs one more round has cost most of what it will cost already.
REPAIRS, ROLLOUTS, NEW, HOUSEKEEPING = 10, 5, 0, -5


def priority(value: int) -> dict[str, str]:
    """The tag by which Dagster's queue orders runs."""
    return {"dagster/priority": str(value)}
