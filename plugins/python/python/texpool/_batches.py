"""Sessions for the batches of a model whose file leaves its batch open."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import _texpool

#: Number of batches other than 1 whose sessions are kept.
KEPT = 4


class Batches:
    """The session for a batch of 1, and those for other batches.

    Each of the others is created by the first run of its batch. The least recently used are dropped. If `exclusive`, as
    with a budget, only the last one used holds memory of the device.
    """

    def __init__(
        self, of_one: _texpool.Session, create: Callable[[dict[str, int]], _texpool.Session], exclusive: bool
    ) -> None:
        self._of_one = of_one
        self._create = create
        self._exclusive = exclusive
        self._shapes = {name: shape for name, shape, _, _ in of_one.inputs()}
        # Ordered by their last use.
        self._others: dict[tuple[int, ...], _texpool.Session] = {}
        self._last = of_one
        self._carried: list[tuple[str, str]] = []
        self._closed = False
        self._lock = threading.Lock()

    def session(self, feed: Mapping[str, Any]) -> _texpool.Session:
        """The session for the batches of these arrays; the one for a batch of 1 if they do not fit the inputs."""
        sizes = self._sizes(feed)
        with self._lock:
            if self._closed or all(size == 1 for size in sizes.values()):
                session = self._of_one
            else:
                session = self._other(sizes)
            if self._exclusive and session is not self._last:
                self._last.trim()
            self._last = session
            return session

    def _sizes(self, feed: Mapping[str, Any]) -> dict[str, int]:
        """The batch that arrays have, by its name in the file."""
        sizes: dict[str, int] = {}
        for name, batch in self._of_one.assumed():
            # A state has the batch of the arrays.
            if name not in feed and any(name == input for _, input in self._carried):
                continue
            extents = list(getattr(feed.get(name), "shape", ()))
            if len(extents) == 0 or extents[0] < 1 or extents[1:] != self._shapes[name][1:]:
                return {}
            sizes.setdefault(batch, int(extents[0]))
        return sizes

    def _other(self, sizes: dict[str, int]) -> _texpool.Session:
        key = tuple(sizes.values())
        session = self._others.pop(key, None)
        if session is None:
            # Make room first.
            if self._exclusive:
                self._last.trim()
            while len(self._others) >= KEPT:
                del self._others[next(iter(self._others))]
            session = self._create(sizes)
            for output, input in self._carried:
                session.carry(output, input)
        self._others[key] = session
        return session

    def carry(self, output: str, input: str) -> None:
        """Carries an output to an input in all sessions."""
        with self._lock:
            for session in [self._of_one, *self._others.values()]:
                session.carry(output, input)
            self._carried.append((output, input))

    def reset(self) -> None:
        """Starts all sessions again."""
        with self._lock:
            for session in [self._of_one, *self._others.values()]:
                session.reset()

    def trim(self) -> None:
        """Gives the device's memory back until the next run."""
        with self._lock:
            for session in [self._of_one, *self._others.values()]:
                session.trim()

    def close(self) -> None:
        """Closes all sessions."""
        with self._lock:
            self._closed = True
            for session in [self._of_one, *self._others.values()]:
                session.close()
            self._others.clear()
            self._last = self._of_one
