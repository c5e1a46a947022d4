"""What several tests need: models, the command, and values."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import texpool

CACHES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
#: Folder where `texpool models fetch` stores models and photos.
CACHE = Path(os.environ.get("TEXPOOL_CACHE") or CACHES / "texpool")
#: Folder of the tests.
HERE = Path(__file__).resolve().parent

BLAZEFACE = CACHE / "blaze_face_short_range.tflite"
#: A network whose runs take long enough for something to happen meanwhile.
SLOW = CACHE / "mobilenet_v1_1.0_224.tflite"
#: File and open extents of each model to compare.
MODELS: dict[str, tuple[Path, dict[str, int]]] = {
    "blazeface": (BLAZEFACE, {}),
    "mobilenet_v1": (SLOW, {}),
    "mobilenet_v2": (CACHE / "mobilenet_v2.onnx", {}),
    "deeplabv3": (CACHE / "deeplabv3_257_mv_gpu.tflite", {}),
    "hand_landmark_lite": (CACHE / "hand_landmark_lite.tflite", {}),
    "face_landmark": (CACHE / "face_landmark.tflite", {}),
    "minilm": (CACHE / "paraphrase-MiniLM-L3-v2.onnx", {"batch_size": 1, "sequence_length": 128}),
}


def values(session: texpool.InferenceSession) -> dict[str, np.ndarray]:
    """Values for all inputs, the same every time: pictures, or tokens, mask and types of a text."""
    generator = np.random.default_rng(7)
    feed = {}
    for node in session.get_inputs():
        if node.dtype.kind == "f":
            feed[node.name] = generator.uniform(-1, 1, node.shape).astype(node.dtype)
        else:
            most = {"input_ids": 30000, "attention_mask": 2}.get(node.name, 1)
            feed[node.name] = generator.integers(0, most, node.shape).astype(node.dtype)
    return feed


def blazeface() -> tuple[texpool.InferenceSession, dict[str, np.ndarray]]:
    """A small session and its input."""
    session = texpool.InferenceSession(BLAZEFACE)
    return session, values(session)


def same_bits(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    """Whether both are the same, to the bit."""
    pairs = list(zip(left, right, strict=True))
    return all(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


def resident_bytes() -> int:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def python(code: str, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, beside these tests."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def onnx_chain(extents: Sequence[int | str], operators: list[str]) -> bytes:
    """An `.onnx` file of functions of one tensor, one after the other."""

    def field(number: int, value: bytes | str | int) -> bytes:
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        encoded = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(encoded)) + encoded

    def varint(value: int) -> bytes:
        more = value >> 7
        return bytes([value & 127 | (128 if more else 0)]) + (varint(more) if more else b"")

    def tensor(name: str) -> bytes:
        # `dim_value` is field 1 and `dim_param`, a name, is field 2.
        shape = b"".join(field(1, field(2 if isinstance(extent, str) else 1, extent)) for extent in extents)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    nodes = [
        field(1, field(1, f"t{index}") + field(2, f"t{index + 1}") + field(4, operator))
        for index, operator in enumerate(operators)
    ]
    ends = field(11, tensor("t0")) + field(12, tensor(f"t{len(operators)}"))
    return field(1, 8) + field(8, field(2, 13)) + field(7, b"".join(nodes) + field(2, "chain") + ends)
