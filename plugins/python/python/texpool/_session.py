"""Models on a device."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy
import numpy.typing

from . import _texpool
from ._batches import Batches
from ._errors import Error
from ._memory import Memory, MemoryBlock, MemoryMap
from ._options import (
    Blocks,
    Objective,
    Order,
    Precision,
    ProgressCallback,
    Size,
    Source,
    Stream,
    Stripes,
    Tiling,
    Weights,
    checked_plan,
    checked_source,
    native_progress,
    option_pairs,
)

_TYPES = {
    "float32": "tensor(float)",
    "float16": "tensor(float16)",
    "int8": "tensor(int8)",
    "uint8": "tensor(uint8)",
    "int16": "tensor(int16)",
    "uint16": "tensor(uint16)",
    "int32": "tensor(int32)",
    "uint32": "tensor(uint32)",
    "int64": "tensor(int64)",
    "uint64": "tensor(uint64)",
    "bool": "tensor(bool)",
}


class SupportsDLPack(Protocol):
    """A tensor of another library's, such as PyTorch's on the CPU."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


Array: TypeAlias = numpy.typing.NDArray[Any] | SupportsDLPack


class Quantization(NamedTuple):
    """What an integer `q` stands for: `(q - zero_point) * scale`."""

    scale: float
    zero_point: int


class NodeArg(NamedTuple):
    """An input or output of a model."""

    #: Name in the file.
    name: str
    #: Extents.
    shape: list[int]
    #: Element type in ONNX Runtime's notation, such as `tensor(float)`.
    type: str
    #: Element type as a NumPy type.
    dtype: numpy.dtype[Any]
    #: Quantization of the integers, or `None` if they are not quantized.
    quantization: Quantization | None


class ModelMetadata(NamedTuple):
    """Facts that a model's file states about its origin, as ONNX Runtime's class of this name; texts it does not state
    are empty.
    """

    #: Name of the tool that wrote the file.
    producer_name: str
    #: Name of the main graph.
    graph_name: str
    #: Namespace of the model.
    domain: str
    #: Description of the model.
    description: str
    #: Description of the main graph.
    graph_description: str
    #: Version of the model, which its author counts.
    version: int
    #: Further facts, by their names.
    custom_metadata_map: dict[str, str]


class FrontPoint(NamedTuple):
    """A plan that no other beats in both the device's bytes and time."""

    #: Device memory of a session in bytes, as calculated without a device.
    device_bytes: int
    #: Part of it that belongs to the pool.
    pool_bytes: int
    #: Predicted duration of a run. Only meaningful for comparing plans.
    seconds: float | None
    #: Saved plan, for `InferenceSession(..., plan=...)`.
    plan: bytes

    def __repr__(self) -> str:
        # Kilobytes of plan would hide the numbers.
        plan = f"<{len(self.plan)} bytes>"
        numbers = f"device_bytes={self.device_bytes}, pool_bytes={self.pool_bytes}, seconds={self.seconds}"
        return f"FrontPoint({numbers}, plan={plan})"


class InferenceSession:
    """A model on a device, with the interface of ONNX Runtime's class of this name.

    `path_or_bytes` is a `.tflite` or `.onnx` file, or its bytes. All other arguments are keywords with the meaning of
    the command's flags:

    budget
        Upper limit on all device memory, in bytes or as a text such as "2MiB": pool, weights, inputs and outputs,
        tables, transfers. Inputs and outputs go through the pool. If necessary, operators run in stripes of rows and
        weights are streamed. The results have the same bits.
    objective
        Quality that decides between plans if there is no budget: "fastest" (the default), "smallest" in device memory,
        or "balanced", up to the point where saving another percent of memory costs more than a percent of time.
    tiling
        "rows" (the default) lets operators run in stripes of rows to save memory; "patches" also divides the first layers
        into patches of columns, if that saves more; "whole" keeps every tensor whole.
    stripes
        Numbers of stripes of rows instead of a search: one for every operator, or a mapping from the names of tensors to the
        numbers of the operators that compute them, with all others whole. The results have the same bits. Not together
        with a budget.
    order
        Order of the operators: the "file"'s (the default), or "memory", the one with the smallest pool of whole tensors
        that is found. The results have the same bits.
    stream
        Data that passes through the pool in every run instead of staying on the device: "none", "weights", "io" (inputs
        and outputs) or "all". Defaults to "all" with objective="smallest", else "io".
    weight_tile
        Upper limit on a tile of streamed weights, for operators that run over all their rows at once. Defaults to
        "64KiB". Not together with a budget.
    device
        Part of an adapter's name, or its PCI address (`texpool.list_adapters()`). Defaults to the adapter that wgpu
        prefers. Sessions of a process share their device.
    precision
        Storage of activations and weights: "f32", "f16", or "u8" for 8-bit tensors in bytes.
    weights
        Storage of weights: "f32", "f16", "file" for the file's own format, or "int8", quantized by output channel.
    strategy
        Planner of the pool: "best", "optimum", "banks", or a strategy's name.
    cache_dir
        Folder for packed weights, and for plans whose search takes long.
    plan
        A plan that `save_plan` or `texpool compile` has written, as a file or as bytes. It replaces all other options of
        the plan.
    progress
        Called with a `Progress` about twenty times a second during the search for a plan. If it returns `False`, the
        search ends with the best plan so far.
    deadline
        Time limit of the search in seconds; then the best plan so far is used. Without a deadline, a model gets the same
        plan on every machine whose device is of the same class.
    timeout
        Time limit of a run on the device, in seconds. Defaults to 600.
    dims
        Extents that the file leaves open, by name: `{"batch": 8}`. If only batches are open, they are 1, with a
        `UserWarning`, and the first run of another batch plans for it with the same options. The last four plans are
        kept; with a budget only the last one used holds device memory. With `plan`, only its batch runs. Shapes, memory
        and plan of the session are those of the batch of 1. If other extents are open, the error names all of them.
        `{"length": "<=300"}` plans an `.onnx` file for every length from 1 to 300: each run has that of its arrays.
    constants
        Inputs to turn into constants, by name: `{"sr": 16000}`. They are no longer inputs of the session. A single number
        is repeated. Only for `.onnx` files.
    rules
        Rewrite rules: "default", "exact", "all", "none", or a list of names.
    blocks
        Class of devices whose blocks kernels compute. Defaults to "auto", the device's class. The results have the same
        bits.
    fake_quant
        How 8-bit integers are computed: as by ONNX Runtime and XNNPACK (True), as by TensorFlow Lite's reference kernels
        ("reference"), or as reals that are not rounded (False).

    sess_options, providers, provider_options, disabled_optimizers, enable_fallback
        Accepted and ignored, so that programs written for ONNX Runtime need no change. The device runs the whole model.

    Threads may share a session; their runs follow each other. A session pickles its path or bytes, its options and its
    plan, so unpickling needs no search.
    """

    def __init__(
        self,
        path_or_bytes: Source,
        sess_options: object = None,
        providers: Sequence[object] | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        *,
        budget: Size | None = None,
        objective: Objective | None = None,
        tiling: Tiling | None = None,
        stripes: Stripes | None = None,
        order: Order | None = None,
        stream: Stream | None = None,
        weight_tile: Size | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        weights: Weights | None = None,
        strategy: str | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        plan: str | os.PathLike[str] | bytes | None = None,
        progress: ProgressCallback | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        dims: Mapping[str, int | str] | None = None,
        constants: Mapping[str, object] | None = None,
        rules: str | Sequence[str] | None = None,
        blocks: Blocks | None = None,
        fake_quant: bool | str = True,
        disabled_optimizers: Collection[str] | None = None,
        enable_fallback: object = None,
        _kept_plan: bytes | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "budget": budget,
            "objective": objective,
            "tiling": tiling,
            "stripes": stripes,
            "order": order,
            "stream": stream,
            "weight_tile": weight_tile,
            "precision": precision,
            "weights": weights,
            "strategy": strategy,
            "rules": rules,
            "blocks": blocks,
            "dims": None if dims is None else dict(dims),
            "constants": None if constants is None else dict(constants),
            "fake_quant": fake_quant,
            "device": device,
            "timeout": timeout,
            "deadline": deadline,
            # An absolute path, since the session may be unpickled in another folder.
            "cache_dir": None if cache_dir is None else os.path.abspath(os.fspath(cache_dir)),
        }
        del sess_options, providers, provider_options, disabled_optimizers, enable_fallback
        pairs = option_pairs(self._options)
        self._source = checked_source(path_or_bytes)
        self._plan = checked_plan(plan)
        self._session = _texpool.Session(self._source, pairs, self._plan, _kept_plan, native_progress(progress))
        self._batches = self._batches_of(self._session)
        self._carried: list[tuple[str, str]] = []

    def _batches_of(self, session: _texpool.Session) -> Batches | None:
        """Sessions of the model by batch, if its batch is open. A plan is for one batch."""
        if self._plan is not None or not session.assumed():
            return None

        def create(sizes: dict[str, int]) -> _texpool.Session:
            pairs = option_pairs({**self._options, "dims": {**(self._options["dims"] or {}), **sizes}})
            return _texpool.Session(self._source, pairs, None, None, None)

        return Batches(session, create, exclusive=self._options["budget"] is not None)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array], run_options: object = None
    ) -> list[numpy.typing.NDArray[Any]]:
        """Runs the model: an array for each of the outputs that are named, or for all.

        Arrays are of the inputs' types, or of float32, in any strides; those that do not run backwards are read where
        they lie, and nobody may write them meanwhile. Other threads of Python run on. Ctrl-C ends a run within a tenth
        of a second, and the next one waits for what is left of it. `run_options` is accepted and ignored, as ONNX Runtime
        has it.

        A `RuntimeWarning`, one a session, says that outputs are not finite or that values or indices were clamped.
        """
        del run_options
        # A string would be accepted as a sequence of its letters.
        if isinstance(output_names, str):
            raise TypeError(f"output_names must be a list of names or None, not the string {output_names!r}")
        if not isinstance(input_feed, Mapping):
            raise TypeError(f"input_feed must map names to arrays, {{name: array}}, not {type(input_feed).__name__}")
        names = None if output_names is None else list(output_names)
        feed = input_feed if isinstance(input_feed, dict) else dict(input_feed)
        session = self._session if self._batches is None else self._batches.session(feed)
        return session.run(names, feed)

    def get_inputs(self) -> list[NodeArg]:
        """What the model takes."""
        return _node_args(self._session.inputs())

    def get_outputs(self) -> list[NodeArg]:
        """What it gives."""
        return _node_args(self._session.outputs())

    def get_modelmeta(self) -> ModelMetadata:
        """Facts that the model's file states about its origin."""
        return ModelMetadata(*self._session.metadata())

    def get_providers(self) -> list[str]:
        """What runs the model, by the name that the provider for ONNX Runtime has."""
        return ["TexpoolExecutionProvider"]

    def memory(self) -> Memory:
        """All that the session takes of the device's memory, in bytes, by what it is for.

        What inputs and outputs lie in and go through is created by the first run: before it, `io` and `transfer` are
        less.
        """
        return self._session.memory()

    def memory_map(self) -> MemoryMap:
        """What lies where in the pool, and at which steps."""
        textures, steps, blocks = self._session.memory_map()
        return MemoryMap(textures, steps, [MemoryBlock(*block) for block in blocks])

    @property
    def pool_bytes(self) -> int:
        """Bytes of the pool, which intermediate tensors lie in."""
        return self._session.pool_bytes

    @property
    def predicted_seconds(self) -> float | None:
        """How long a run is predicted to take, where operators run stripe by stripe."""
        return self._session.predicted_seconds

    @property
    def stopped(self) -> str | None:
        """What ended the search for the plan before it was done: "deadline", "cancelled" or "too_many_tensors"."""
        return self._session.stopped

    @property
    def device(self) -> str:
        """Name of the adapter."""
        return self._session.adapter

    @property
    def precision(self) -> str:
        """How activations and weights are stored: "f32", "f16" or "u8"."""
        return self._session.precision

    def save_plan(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The plan, some kilobytes, for `InferenceSession(..., plan=...)`; written to a file where one is named."""
        plan = self._session.plan()
        if path is not None:
            with open(path, "wb") as file:
                file.write(plan)
        return plan

    def clone(self) -> Self:
        """Another session of the same plan, which shares the weights: one for each thread. Its state begins anew."""
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._session = self._session.another()
        clone._batches = clone._batches_of(clone._session)
        clone._carried = []
        clone.carry(self._carried)
        return clone

    def carry(self, pairs: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        """Makes outputs the inputs of the next run, `{output: input}`: the state of a network that is called again and
        again. With `stream="none"` the state stays on the device; otherwise it passes through the host.

        These inputs begin with zeros and need not be passed to `run`; an array that is passed all the same replaces the
        state for that run. `run(None, ...)` does not return these outputs, `run` with their names does. Pairs of an output
        that goes to several inputs are given as a list of tuples. Each batch of a model has a state of its own.
        """
        for output, input in list(pairs.items()) if isinstance(pairs, Mapping) else list(pairs):
            (self._batches or self._session).carry(output, input)
            self._carried.append((output, input))

    def reset(self) -> None:
        """Lets the state that is carried begin with zeros at the next run, and variables of the model with the values that
        its file gives them. Pass arrays to that run for other values."""
        (self._batches or self._session).reset()

    def trim(self) -> None:
        """Gives the device's memory back until the next run takes it again; the state that is carried stays."""
        (self._batches or self._session).trim()

    def close(self) -> None:
        """Gives all of it back, once those are done who use the session; it cannot be used again."""
        (self._batches or self._session).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        found = self.save_plan() if self._plan is None else None
        return _restored, (type(self), self._source, dict(self._options), self._plan, self._carried, found)

    def __repr__(self) -> str:
        source = f"{len(self._source)} bytes" if isinstance(self._source, bytes) else repr(self._source)
        return f"<{type(self).__name__} of {source} on {self.device}, a pool of {self.pool_bytes} bytes>"


def _restored(
    kind: type[InferenceSession],
    source: Source,
    options: dict[str, Any],
    plan: bytes | None,
    carried: Sequence[tuple[str, str]] = (),
    found: bytes | None = None,
) -> InferenceSession:
    """A session as it was pickled, without its state: with the plan that it had, found again only where that does not fit the device."""
    session = kind(source, plan=plan, _kept_plan=found, **options)
    session.carry(carried)
    return session


def _node_args(described: list[tuple[str, list[int], str, tuple[float, int] | None]]) -> list[NodeArg]:
    return [
        NodeArg(name, shape, _TYPES[dtype], numpy.dtype(dtype), None if stated is None else Quantization(*stated))
        for name, shape, dtype, stated in described
    ]


def pareto_front(
    path_or_bytes: Source,
    *,
    stream: Stream | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    weights: Weights | None = None,
    strategy: str | None = None,
    progress: ProgressCallback | None = None,
    deadline: float | None = None,
    dims: Mapping[str, int | str] | None = None,
    constants: Mapping[str, object] | None = None,
    rules: str | Sequence[str] | None = None,
    fake_quant: bool | str = True,
) -> list[FrontPoint]:
    """All plans of a model that none beats in both the device's bytes and predicted time, the fastest first.

    The arguments are those of `InferenceSession`.
    """
    arguments = {
        "stream": stream,
        "precision": precision,
        "weights": weights,
        "strategy": strategy,
        "rules": rules,
        "dims": dims,
        "constants": constants,
        "fake_quant": fake_quant,
        "device": device,
        "deadline": deadline,
    }
    points = _texpool.pareto_front(checked_source(path_or_bytes), option_pairs(arguments), native_progress(progress))
    if not points:
        raise Error("no plan was found")
    return [FrontPoint(*point) for point in points]
