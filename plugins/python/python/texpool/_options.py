"""Arguments of sessions and of the planner, checked."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy

Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview
Objective: TypeAlias = Literal["fastest", "balanced", "smallest"]
Tiling: TypeAlias = Literal["rows", "patches", "whole"]
Stripes: TypeAlias = int | str | Mapping[str, int]
Order: TypeAlias = Literal["file", "memory"]
Blocks: TypeAlias = Literal[
    "auto", "software", "nvidia", "amd", "intel", "adreno", "mali", "powervr", "apple", "unknown"
]
Stream: TypeAlias = Literal["none", "weights", "io", "all"]
Precision: TypeAlias = Literal["f32", "f16", "u8"]
Weights: TypeAlias = Literal["f32", "f16", "file", "int8"]
Size: TypeAlias = int | str
# Name and value of an option, as passed to the native module.
Pair: TypeAlias = tuple[str, str]


class Progress(NamedTuple):
    """How far a search is."""

    #: Name of the current stage, such as `exact search`.
    stage: str
    #: Units of work done in this stage.
    done: int
    #: Upper limit on the units of work in this stage; 0 if unknown.
    total: int
    #: Size of the best plan yet, or `None` before a plan was found.
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


def _size_text(name: str, size: Any) -> str:
    return size if isinstance(size, str) else str(checked_size(name, size))


def _word_text(name: str, word: Any) -> str:
    if not isinstance(word, str):
        raise TypeError(f"{name} must be a string, not {word!r}")
    return word


def _stripes_text(name: str, stripes: Any) -> str:
    if isinstance(stripes, Mapping):
        return ",".join(f"{tensor}={checked_size(f'{name}[{tensor!r}]', number)}" for tensor, number in stripes.items())
    return stripes if isinstance(stripes, str) else str(checked_size(name, stripes))


def _seconds_text(name: str, seconds: Any) -> str:
    checked = checked_seconds(name, seconds)
    assert checked is not None
    # A format without an exponent.
    return f"{checked:.9f}"


def _rules_text(name: str, rules: Any) -> str:
    return rules if isinstance(rules, str) else ",".join(_word_text(name, rule) for rule in rules)


def _switch_text(name: str, switch: Any) -> str:
    if isinstance(switch, str):
        return switch
    return "on" if switch else "off"


def _folder_text(name: str, folder: Any) -> str:
    return os.path.abspath(os.fsdecode(os.fspath(folder)))


def _numbers_text(input: str, numbers: Any) -> str:
    listed = numpy.asarray(numbers)
    if listed.dtype.kind not in "biuf" or listed.size == 0:
        raise ValueError(f"constants[{input!r}]: expected a number or several, not {numbers!r}")
    # Truth values are 0 and 1. The texts of floats are the shortest ones that are read back as the same float.
    return ",".join(repr(int(number) if listed.dtype.kind in "biu" else float(number)) for number in listed.flat)


# Converter from value to string for each argument.
_TEXTS: dict[str, Callable[[str, Any], str]] = {
    "budget": _size_text,
    "objective": _word_text,
    "tiling": _word_text,
    "stripes": _stripes_text,
    "order": _word_text,
    "stream": _word_text,
    "weight_tile": _size_text,
    "precision": _word_text,
    "weights": _word_text,
    "strategy": _word_text,
    "rules": _rules_text,
    "blocks": _word_text,
    "fake_quant": _switch_text,
    "device": _word_text,
    "timeout": _seconds_text,
    "deadline": _seconds_text,
    "cache_dir": _folder_text,
}


def _dim_text(dim: str, extent: int | str) -> str:
    """A number, or the most that an extent can be: `"<=300"`."""
    if isinstance(extent, str):
        if not extent.startswith("<="):
            raise TypeError(f"dims[{dim!r}] must be a number or '<=NUMBER', not {extent!r}")
        return f"{dim}{extent}"
    return f"{dim}={checked_size(f'dims[{dim!r}]', extent)}"


def option_pairs(arguments: Mapping[str, Any]) -> list[Pair]:
    """Arguments of a session by name and text, but for those that are `None`; the native module says what they mean."""
    pairs = []
    for name, value in arguments.items():
        if value is None:
            continue
        if name == "dims":
            pairs += [("dim", _dim_text(dim, extent)) for dim, extent in value.items()]
        elif name == "constants":
            pairs += [("constant", f"{input}={_numbers_text(input, numbers)}") for input, numbers in value.items()]
        else:
            # The argument is called `device`, as in other runtimes; everywhere else the option is called `adapter`.
            pairs.append(("adapter" if name == "device" else name, _TEXTS[name](name, value)))
    return pairs
