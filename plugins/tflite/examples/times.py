"""What a run takes through the delegate and on the runtime's own CPU, in turns: `python times.py LIBRARY MODEL...`

Wall and processor milliseconds, medians; the processor is all threads of this process, those of a software GPU among
them.
"""

import statistics
import sys
import time
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate

RUNS = 40


def made(model: str, delegates: list[Any]) -> tuple[Any, float]:
    """An interpreter with values, and the seconds until its first answer."""
    begun = time.perf_counter()
    interpreter = Interpreter(model, experimental_delegates=delegates or None, num_threads=1)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        values = np.random.default_rng(7).uniform(0, 1, detail["shape"])
        scale = 1 if np.dtype(detail["dtype"]).kind == "f" else 255
        interpreter.set_tensor(detail["index"], (values * scale).astype(detail["dtype"]))
    interpreter.invoke()
    return interpreter, time.perf_counter() - begun


def main() -> None:
    library, *models = sys.argv[1:]
    print(f"{'delegate: wall':>15} {'processor':>10} {'cold':>7}  {'CPU: wall':>10} {'processor':>10} {'cold':>7}")
    for model in models:
        both = [made(model, [load_delegate(library)]), made(model, [])]
        times: list[list[tuple[float, float]]] = [[], []]
        for _ in range(RUNS):
            for one, (interpreter, _) in enumerate(both):
                wall, processor = time.perf_counter(), time.process_time()
                interpreter.invoke()
                times[one].append((time.perf_counter() - wall, time.process_time() - processor))
        columns = []
        for one in range(2):
            wall, processor = (1000 * statistics.median(column) for column in zip(*times[one]))
            columns += [wall, processor, 1000 * both[one][1]]
        print("{:15.1f} {:10.1f} {:7.0f}  {:10.1f} {:10.1f} {:7.0f}  {}".format(*columns, model.rsplit("/", 1)[-1]))


if __name__ == "__main__":
    main()
