"""What a call from Python costs beside the same run in Rust: `python call_cost.py MODEL...`"""

import statistics
import sys
import time

import numpy as np

import texpool

CALLS = 300


def main() -> None:
    print(f"medians of {CALLS} calls, in microseconds")
    print(f"{'in Rust':>10} {'added':>7} {'p90':>7}  values in, out")
    for model in sys.argv[1:]:
        session = texpool.InferenceSession(model)
        feed = {node.name: np.zeros(node.shape, node.dtype) for node in session.get_inputs()}
        results = session.run(None, feed)
        inside, added = [], []
        for _ in range(CALLS):
            begun = time.perf_counter()
            session.run(None, feed)
            took = time.perf_counter() - begun
            inside.append(1e6 * session._session.run_seconds)
            added.append(1e6 * took - inside[-1])
        values = sum(array.size for array in feed.values()), sum(array.size for array in results)
        p90 = statistics.quantiles(added, n=10)[-1]
        median = f"{statistics.median(inside):10.0f} {statistics.median(added):7.1f}"
        print(f"{median} {p90:7.1f}  {values[0]}, {values[1]}  {model}")


if __name__ == "__main__":
    main()
