"""Values that belong to one event loop: connection pools and semaphores must not travel to another loop."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes its value once for every running event loop and forgets it together with the loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The value of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            self._values[loop] = self._make()
        return self._values[loop]
