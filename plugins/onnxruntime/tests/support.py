"""What several tests need: the provider's device, sessions, models and values."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import onnxruntime_ep_texpool
from onnx import TensorProto, helper

CACHES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
#: Folder where `texpool models fetch` stores models.
CACHE = Path(os.environ.get("TEXPOOL_CACHE") or CACHES / "texpool")
HERE = Path(__file__).resolve().parent
NAME = onnxruntime_ep_texpool.get_ep_name()

Feed = dict[str, np.ndarray]


def register() -> None:
    """Registers the library, once in a process."""
    if not devices():
        onnxruntime.register_execution_provider_library("texpool", onnxruntime_ep_texpool.get_library_path())


def devices() -> list[onnxruntime.OrtEpDevice]:
    """The devices that the provider offers."""
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def session(model: Path | bytes, plain: bool = False, **options: str) -> onnxruntime.InferenceSession:
    """A session with the provider; `plain` without what the runtime does to a graph before a provider sees it."""
    register()
    asked = onnxruntime.SessionOptions()
    if plain:
        asked.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Parts of small models are taken, too, unless a test asks for the default.
    asked.add_provider_for_devices(devices()[:1], {"min_operations": "0"} | options)
    # Without this, errors of a provider go to standard output, and the session is created without the provider.
    given = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(given, sess_options=asked, enable_fallback=0)


def reported(
    model: Path | bytes, plain: bool = False, **options: str
) -> tuple[onnxruntime.InferenceSession, list[str]]:
    """A session, and the lines of its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.txt"
        made = session(model, plain, report=str(path), **options)
        # The runtime does not query providers about a graph without nodes.
        return made, path.read_text().splitlines() if path.exists() else []


def explained(model: Path | bytes, *options: str) -> dict[str, Any]:
    """What `texpool explain` says of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = model
        if isinstance(model, bytes):
            path = Path(folder) / "model.onnx"
            path.write_bytes(model)
        command = [os.environ["TEXPOOL_COMMAND"], "explain", str(path), "--host", "onnxruntime", "--json", *options]
        said = subprocess.run(command, capture_output=True, check=True)
    return json.loads(said.stdout)["graphs"][0]


def on_cpu(model: Path | bytes) -> onnxruntime.InferenceSession:
    """A session of the runtime's own."""
    given = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"])


def values(made: onnxruntime.InferenceSession, shapes: Mapping[str, Sequence[int]] | None = None, seed: int = 7) -> Feed:
    """Values for all inputs, the same every time."""
    generator = np.random.default_rng(seed)
    feed = {}
    for node in made.get_inputs():
        shape = (shapes or {}).get(node.name, node.shape)
        if node.type == "tensor(float)":
            feed[node.name] = generator.uniform(-1, 1, shape).astype(np.float32)
        else:
            most = {"input_ids": 30000, "attention_mask": 2}.get(node.name, 1)
            feed[node.name] = generator.integers(0, most, shape).astype(np.int64)
    return feed


def off(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> float:
    """How far off results are: the greatest difference, in parts of what is allowed, which is 1e-5 and as much of the
    greatest value; of integers none."""
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise AssertionError(f"{one.shape} of {one.dtype}, not {other.shape} of {other.dtype}")
        if one.size == 0:
            continue
        if one.dtype.kind == "f":
            difference = np.abs(one.astype(np.float64) - other)
            worst = max(worst, float(difference.max() / (1e-5 + 1e-5 * np.abs(other).max())))
        else:
            worst = max(worst, 0.0 if np.array_equal(one, other) else np.inf)
    return worst


def resident_bytes() -> int:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def python(code: str, timeout: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, beside these tests."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def tensor(name: str, shape: Sequence[int | str | None], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """An input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name: str, value: np.ndarray) -> onnx.TensorProto:
    """A constant."""
    return onnx.numpy_helper.from_array(value, name)


def file(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
    between: Sequence[onnx.ValueInfoProto] = (),
) -> bytes:
    """A model's file. Values between nodes need a statement only where the runtime does not infer their extents."""
    lists = [list(inputs), list(outputs), list(constants)]
    graph = helper.make_graph(list(nodes), "main", *lists, value_info=list(between))
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def weights(name: str, *shape: int) -> onnx.TensorProto:
    """Weights, the same every time."""
    return constant(name, np.random.default_rng(sum(shape)).uniform(-0.5, 0.5, shape).astype(np.float32))


def small() -> bytes:
    """A convolution, a function and a mean: all of it is taken."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("GlobalAveragePool", ["b"], ["y"], name="mean"),
    ]
    return file(nodes, [tensor("x", [1, 3, 16, 16])], [tensor("y", [1, 8, 1, 1])], [weights("w", 8, 3, 3, 3)])
