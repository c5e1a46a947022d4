"""Arguments of sessions and of the planner, checked."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypedDict

Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview
Phases: TypeAlias = Literal["off", "auto", "min"]
Stream: TypeAlias = Literal["none", "weights", "io", "all"]
Precision: TypeAlias = Literal["f32", "f16"]


class Options(TypedDict):
    """What the native module is asked."""

    budget: int | None
    phases: str | None
    stream: str | None
    precision: str | None
    rules: list[str] | None
    dims: dict[str, int]
    fake_quant: bool
    device: str | None
    timeout: float | None
    deadline: float | None
    cache_dir: str | None


class Progress(NamedTuple):
    """How far a search is."""

    #: What is done, such as `exact search`.
    stage: str
    #: Units of work done in this stage.
    done: int
    #: Units that the stage takes at most; 0 if that is not known.
    total: int
    #: Size of the best plan so far, if there is one.
    best: int | None


ProgressCallback: TypeAlias = Callable[[Progress], object]
NativeCallback: TypeAlias = Callable[[str, int, int, int | None], object]


def native_progress(progress: ProgressCallback | None) -> NativeCallback | None:
    """The callback as the native module calls it."""
    if progress is None:
        return None
    if not callable(progress):
        raise TypeError(f"progress must be callable, not {type(progress).__name__}")
    return lambda stage, done, total, best: progress(Progress(stage, done, total, best))


def checked_source(source: Source) -> str | bytes:
    """Bytes of a model, or the whole path of its file."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    return os.path.abspath(os.fsdecode(os.fspath(source)))


def checked_plan(plan: str | os.PathLike[str] | bytes | None) -> bytes | None:
    """Bytes of a saved plan."""
    if plan is None or isinstance(plan, bytes):
        return plan
    return Path(plan).read_bytes()


def checked_size(name: str, size: int | None) -> int | None:
    """A number of bytes, or of whatever else sizes are in."""
    if size is None:
        return None
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"{name} must be a number of bytes, not {size!r}")
    if not 0 < int(size) < 1 << 64:
        raise ValueError(f"{name} must be at least 1 and below 2**64, not {size}")
    return int(size)


def checked_seconds(name: str, seconds: float | None) -> float | None:
    """A time."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {seconds!r}")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{name} must be a number of seconds that is not negative, not {seconds}")
    return float(seconds)


def one_of(name: str, value: str | None, known: Sequence[str]) -> str | None:
    """A word out of a few."""
    if value is not None and value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
    return value


def checked_options(
    *,
    budget: int | None,
    phases: Phases | None,
    stream: Stream | None,
    precision: Precision | None,
    rules: str | Sequence[str] | None,
    dims: Mapping[str, int] | None,
    fake_quant: bool,
    device: str | None,
    timeout: float | None,
    deadline: float | None,
    cache_dir: str | os.PathLike[str] | None,
) -> Options:
    """All of them as the native module takes them."""
    if budget is not None and (phases is not None or stream is not None):
        raise ValueError("a budget decides on phases and on what is streamed; leave `phases` and `stream` out")
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device must be an adapter's name or PCI address, not {device!r}")
    bound = {}
    for name, extent in (dims or {}).items():
        size = checked_size(f"dims[{name!r}]", extent)
        assert size is not None
        bound[name] = size
    return {
        "budget": checked_size("budget", budget),
        "phases": one_of("phases", phases, ["off", "auto", "min"]),
        "stream": one_of("stream", stream, ["none", "weights", "io", "all"]),
        "precision": one_of("precision", precision, ["f32", "f16"]),
        "rules": [rules] if isinstance(rules, str) else None if rules is None else list(rules),
        "dims": bound,
        "fake_quant": bool(fake_quant),
        "device": device,
        "timeout": checked_seconds("timeout", timeout),
        "deadline": checked_seconds("deadline", deadline),
        "cache_dir": None if cache_dir is None else os.path.abspath(os.fsdecode(os.fspath(cache_dir))),
    }
