"""The memory planner alone, without a model or a device."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy
import numpy.typing

from . import _texpool
from ._options import ProgressCallback, checked_seconds, checked_size, native_progress


class Plan(NamedTuple):
    """Where each record lies."""

    #: Size of the arena, or of each texture.
    regions: list[int]
    #: Index of the region for each record.
    region: numpy.typing.NDArray[numpy.int64]
    #: Offset in that region for each record.
    offset: numpy.typing.NDArray[numpy.uint64]
    #: Strategy that found the plan.
    strategy: str
    #: Total size of the regions.
    total: int
    #: Lower bound on the total of any plan of this kind (one arena; textures that hold one tensor at a time; textures
    #: that hold several).
    bound: int
    #: True if this is proven to be the smallest plan of its kind.
    proven: bool
    #: True if the records fit into `capacity`; `None` if that is unknown, or if no capacity was given.
    fits: bool | None
    #: Reason why the search ended early, if it did: the deadline, the callback, or more tensors than the exact search
    #: takes.
    stopped: Literal["deadline", "cancelled", "too_many_tensors"] | None


def strategies() -> list[str]:
    """What `plan` takes as a strategy."""
    return ["arena", "best", "optimum", "banks", *_texpool.strategies()]


def plan(
    records: Sequence[tuple[int, int, int]] | numpy.typing.NDArray[numpy.integer[Any]],
    *,
    strategy: str = "arena",
    alignment: int = 1,
    capacity: int | None = None,
    deadline: float | None = None,
    progress: ProgressCallback | None = None,
) -> Plan:
    """Places tensors in memory, as small as it can, and says how small any plan must be.

    A record is the first step that uses a tensor, the last (inclusive), and a size in any unit; `records` is a list of
    those or an array of three columns. The strategy `arena` puts all into one region; `best` into regions no two
    tensors of which are read and written by one step, as textures need it; `optimum` into regions that hold one tensor
    at a time; the others are named by `strategies()`.

    `alignment` is what offsets in an arena are multiples of. With a `capacity` the search ends as soon as it is known
    whether the records fit. It ends after `deadline` seconds with the best plan so far; without one, its effort is
    bounded and the same on every machine. `progress` is called some twenty times a second; where it returns `False`,
    the search ends with the best plan so far. Ctrl-C ends it, too.

        >>> plan([(0, 1, 8), (1, 2, 4), (2, 3, 8)]).total
        12
    """
    rows = _rows(records)
    if strategy != "arena" and alignment != 1:
        raise ValueError("an alignment goes with the strategy 'arena' alone")
    align, within = checked_size("alignment", alignment), checked_size("capacity", capacity)
    assert align is not None
    seconds, callback = checked_seconds("deadline", deadline), native_progress(progress)
    regions, region, offset, name, total, bound, stopped = _texpool.plan(
        rows, strategy, align, within, seconds, callback
    )
    fits = None
    if within is not None:
        fits = True if total <= within else False if bound > within else None
    return Plan(
        regions=regions,
        region=numpy.asarray(region, numpy.int64),
        offset=numpy.asarray(offset, numpy.uint64),
        strategy=name,
        total=total,
        bound=bound,
        proven=total <= bound,
        fits=fits,
        stopped=stopped,
    )


def _rows(
    records: Sequence[tuple[int, int, int]] | numpy.typing.NDArray[numpy.integer[Any]],
) -> list[tuple[int, int, int]]:
    """The records as tuples of integers."""
    if len(records) == 0:
        return []
    table = numpy.asarray(records)
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(f"records must have three columns (first step, last step, size), not the shape {table.shape}")
    if table.dtype.kind not in "iu":
        raise TypeError(f"records must be integers, not {table.dtype}")
    if (table < 0).any():
        row = int(numpy.argmax((table < 0).any(axis=1)))
        raise ValueError(f"record {row} has a negative number: {table[row].tolist()}")
    return [(first, last, size) for first, last, size in table.tolist()]
