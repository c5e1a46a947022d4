"""What the provider costs against calling texpool directly, and both beside the runtime's own providers: the CPU's, and
WebGPU's where `onnxruntime-webgpu` is installed in place of `onnxruntime`. Milliseconds of a run, wall and processor, in turns
within one process each, and from a session to its first answer. With `cargo build --release --example direct`:

    python call_cost.py target/release/examples/direct MODEL.onnx...
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import onnxruntime
import onnxruntime_ep_texpool

ROUNDS = 7


def devices(provider: str) -> list[onnxruntime.OrtEpDevice]:
    """What a provider offers."""
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == provider]


def session(file: str, of: list[onnxruntime.OrtEpDevice], provider: str = "CPU") -> Callable[[int], tuple[float, float]]:
    """Something that runs a model as often as it is asked to, and tells the milliseconds of a run."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if of:
        options.add_provider_for_devices(of[:1], {})
    begun = time.perf_counter()
    providers = None if of else [f"{provider}ExecutionProvider"]
    made = onnxruntime.InferenceSession(file, sess_options=options, providers=providers)
    feed = {node.name: np.full(node.shape, 0.5, np.float32) for node in made.get_inputs()}
    made.run(None, feed)
    print(f"  the first answer after {(time.perf_counter() - begun) * 1e3:.0f} ms, by {', '.join(made.get_providers())}")

    def run(count: int) -> tuple[float, float]:
        begun, taken = time.perf_counter(), time.process_time()
        for _ in range(count):
            made.run(None, feed)
        return (time.perf_counter() - begun) * 1e3 / count, (time.process_time() - taken) * 1e3 / count

    return run


def direct(program: str, file: str) -> Callable[[int], tuple[float, float]]:
    """The same by texpool itself, in a process of its own."""
    child = subprocess.Popen([program, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(count: int) -> tuple[float, float]:
        print(count, file=child.stdin, flush=True)
        wall, cpu = map(float, child.stdout.readline().split())
        return wall, cpu

    return run


def main(program: str, files: list[str]) -> None:
    onnxruntime.register_execution_provider_library("texpool", onnxruntime_ep_texpool.get_library_path())
    texpool = devices(onnxruntime_ep_texpool.get_ep_name())
    for file in files:
        runs = {
            "through onnxruntime": session(file, texpool),
            "texpool directly": direct(program, file),
            "onnxruntime's CPU, one thread": session(file, []),
        }
        if "WebGpuExecutionProvider" in onnxruntime.get_available_providers():
            runs["onnxruntime's WebGPU"] = session(file, [], "WebGpu")
        # Choose the number of runs so that a round takes about a second.
        count = max(3, int(1000 / max(run(5)[0] for run in runs.values())))
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                times[name].append(run(count))
        print(f"{os.path.basename(file)}, {ROUNDS} rounds of {count} runs, medians:")
        for name, found in times.items():
            wall, cpu = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"  {name}: {wall:.3f} ms, {cpu:.3f} ms of the processor")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
