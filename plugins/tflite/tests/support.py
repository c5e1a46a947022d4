"""What several tests need: the runtime, the delegate, models, and values."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    from ai_edge_litert import interpreter as runtime
except ImportError:
    from tflite_runtime import interpreter as runtime

#: Path of the delegate.
LIBRARY = os.environ["TEXPOOL_DELEGATE"]
CACHES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
#: Folder where `texpool models fetch` stores models.
CACHE = Path(os.environ.get("TEXPOOL_CACHE") or CACHES / "texpool")
#: Folder of the tests.
HERE = Path(__file__).resolve().parent


def delegate(**options: object) -> Any:
    """The delegate, with options."""
    # Parts of small models are taken, too, unless a test asks for the default.
    return runtime.load_delegate(LIBRARY, {"min_operations": 0} | options)


def explained(model: bytes | Path, min_operations: int = 0) -> dict[str, Any]:
    """What `texpool explain` says of the first graph of a model."""
    return explained_graphs(model, min_operations)[0]


def explained_graphs(model: bytes | Path, min_operations: int = 0) -> list[dict[str, Any]]:
    """What `texpool explain` says of the graphs of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = model
        if isinstance(model, bytes):
            path = Path(folder) / "model.tflite"
            path.write_bytes(model)
        command = [os.environ["TEXPOOL_COMMAND"], "explain", str(path), "--host", "tflite", "--json"]
        said = subprocess.run([*command, f"--min-operations={min_operations}"], capture_output=True, check=True)
    return json.loads(said.stdout)["graphs"]


def interpreter(model: bytes | Path, *delegates: Any) -> Any:
    """An interpreter, ready to run."""
    what = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    made = runtime.Interpreter(**what, experimental_delegates=list(delegates) or None, num_threads=1)
    made.allocate_tensors()
    return made


def values(made: Any) -> list[np.ndarray]:
    """Values for all inputs, the same every time."""
    generator = np.random.default_rng(7)

    def one(detail: dict[str, Any]) -> np.ndarray:
        reals = generator.uniform(-1, 1, detail["shape"])
        kind = np.dtype(detail["dtype"])
        if kind.kind == "f":
            return reals.astype(kind)
        if kind.kind == "b":
            return reals > 0
        limits = np.iinfo(kind)
        return generator.integers(limits.min, limits.max, detail["shape"], endpoint=True).astype(kind)

    return [one(detail) for detail in made.get_input_details()]


def run(made: Any, inputs: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    """All outputs."""
    given = values(made) if inputs is None else inputs
    for detail, array in zip(made.get_input_details(), given, strict=True):
        made.set_tensor(detail["index"], array)
    made.invoke()
    return [made.get_tensor(detail["index"]) for detail in made.get_output_details()]


def same_bits(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> bool:
    """Whether both are the same, to the bit."""
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


class Report:
    """A file that a delegate writes."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, folder)
        self.path = folder / "report.json"

    @property
    def graphs(self) -> list[dict[str, Any]]:
        """What it says of the graphs."""
        return json.loads(self.path.read_text())["graphs"]

    @property
    def graph(self) -> dict[str, Any]:
        """What it says of the last graph."""
        return self.graphs[-1]

    @property
    def taken(self) -> list[int]:
        """How many nodes of each graph are taken."""
        return [graph["taken"] for graph in self.graphs]

    @property
    def left(self) -> list[tuple[int, str]]:
        """The nodes that are left, and their operators."""
        return [(node["node"], node["operator"]) for node in self.graph["nodes"] if node["left"]]


def resident_bytes() -> int:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def python(code: str, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, beside these tests."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(HERE), **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
