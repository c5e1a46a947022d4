"""What a model takes through the delegate, by LiteRT's own GPU accelerator (ML Drift) and on its CPU (XNNPACK, one thread):
`python times.py LIBRARY MODEL...`

Each is a process of its own, in turns. Milliseconds from a process that has imported the runtime to the first answer, then
of a run: wall, and processor time of all threads, those of a software GPU among them. Medians; files of the user's cache,
which drivers and the accelerator keep compiled shaders in, count as they are found.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 3
#: Duration of the runs in each round, in seconds.
SECONDS = 1.5
RUNTIMES = ("texpool", "ML Drift", "XNNPACK")


def values(shape: Any, dtype: Any) -> np.ndarray:
    reals = np.random.default_rng(7).uniform(0, 1, shape)
    return (reals * (1 if np.dtype(dtype).kind == "f" else 255)).astype(dtype)


def interpreter(library: str | None, model: str) -> Callable[[], object]:
    """What runs a model by an interpreter, with a delegate or without."""
    from ai_edge_litert.interpreter import Interpreter, load_delegate

    delegates = [load_delegate(library)] if library else None
    made = Interpreter(model, experimental_delegates=delegates, num_threads=1)
    made.allocate_tensors()
    inputs = [(detail["index"], values(detail["shape"], detail["dtype"])) for detail in made.get_input_details()]
    outputs = [detail["index"] for detail in made.get_output_details()]

    def run() -> list[np.ndarray]:
        for index, array in inputs:
            made.set_tensor(index, array)
        made.invoke()
        return [made.get_tensor(index) for index in outputs]

    return run


def accelerated(model: str) -> Callable[[], object]:
    """What runs a model by LiteRT's own accelerator, in 32 bits."""
    from ai_edge_litert.compiled_model import CompiledModel, GpuOptions, HardwareAccelerator, Options

    gpu = GpuOptions(enforce_f32=True)
    made = CompiledModel.from_file(model, options=Options(hardware_accelerators=HardwareAccelerator.GPU, gpu_options=gpu))
    if not made.is_fully_accelerated():
        raise RuntimeError("some of it is left to the CPU")
    signature = next(iter(made.get_signature_list()))
    inputs = list(made.get_input_tensor_details(signature).values())
    outputs = list(made.get_output_tensor_details(signature).values())
    given, taken = made.create_input_buffers(0), made.create_output_buffers(0)
    arrays = [values(detail["shape"], np.float32) for detail in inputs]

    def run() -> list[np.ndarray]:
        for buffer, array in zip(given, arrays, strict=True):
            buffer.write(array)
        made.run_by_index(0, given, taken)
        return [buffer.read(int(np.prod(detail["shape"])), np.float32) for buffer, detail in zip(taken, outputs, strict=True)]

    return run


def one(runtime: str, library: str, model: str) -> None:
    """Runs a model by one of them, in this process, and prints what it takes."""
    import ai_edge_litert.interpreter  # noqa: F401, before time is taken

    begun = time.perf_counter()
    if runtime == "ML Drift":
        run = accelerated(model)
    else:
        run = interpreter(library if runtime == "texpool" else None, model)
    run()
    cold = time.perf_counter() - begun
    run()
    runs, begun, processor = 0, time.perf_counter(), time.process_time()
    while runs < 3 or time.perf_counter() < begun + SECONDS:
        run()
        runs += 1
    wall, processor = time.perf_counter() - begun, time.process_time() - processor
    print(json.dumps([1000 * cold, 1000 * wall / runs, 1000 * processor / runs]), flush=True)
    # Exit without cleanup. Some accelerators close their device while the interpreter still exists, which must not
    # affect the measurement.
    os._exit(0)


def main(library: str, models: list[str]) -> None:
    print(f"{'cold ms':>9} {'run: wall':>10} {'processor':>10}")
    for model in models:
        found: dict[str, list[list[float]]] = {runtime: [] for runtime in RUNTIMES}
        missing = {}
        for _ in range(ROUNDS):
            for runtime in RUNTIMES:
                child = [sys.executable, __file__, "--one", runtime, library, model]
                done = subprocess.run(child, capture_output=True, text=True)
                lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
                if done.returncode == 0 and lines:
                    found[runtime].append(json.loads(lines[-1]))
                else:
                    missing[runtime] = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        for runtime in RUNTIMES:
            if found[runtime]:
                cold, wall, processor = (statistics.median(column) for column in zip(*found[runtime], strict=True))
                said = f"{cold:9.0f} {wall:10.2f} {processor:10.2f}"
            else:
                said = f"{'it does not start: ' + missing[runtime]:31}"
            print(f"{said}  {runtime}, {os.path.basename(model)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(*sys.argv[2:])
    else:
        main(sys.argv[1], sys.argv[2:])
