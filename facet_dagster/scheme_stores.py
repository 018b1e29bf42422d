"""Where the stores of the schemes stand: the forward scheme's is the main one, the others' are below it.

Together they are one account: what is paid into any of them counts for the budget of a day.
"""

from facet_dagster.records.terms import Scheme

_BELOW = "schemes"


def store_of(main: str, scheme: Scheme) -> str:
    """The store of a scheme beside a main store, both as path or URL."""
    return main if scheme is Scheme.FORWARD else f"{main.rstrip('/')}/{_BELOW}/{scheme.value}"


def stores_beside(store: str) -> tuple[str, ...]:
    """The stores of the other schemes, whichever of them this one is. They need not exist."""
    main = store.rstrip("/")
    for scheme in Scheme:
        main = main.removesuffix(f"/{_BELOW}/{scheme.value}")
    stores = (store_of(main, scheme) for scheme in Scheme)
    return tuple(each for each in stores if each != store.rstrip("/"))
