"""Plans of `texpool plan MODEL --arena --write FILE` in the interpreter of TensorFlow Lite Micro, unmodified.

The interpreter reports the bytes that it takes for tensors ("head") on the process's standard error, so each run is a
process of its own: `micro.py MODEL OUTPUTS` runs a model and writes its outputs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import tiny

COMMAND = os.environ["TEXPOOL_COMMAND"]


def interpret(model: str, outputs: str) -> None:
    """Runs a model on inputs that are the same every time, and prints its allocations."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(model, arena_size=64 << 20)
    shape = interpreter.get_input_details(0)["shape"]
    interpreter.set_input(np.random.default_rng(1).standard_normal(shape).astype(np.float32), 0)
    interpreter.invoke()
    np.savez(outputs, interpreter.get_output(0))
    interpreter.print_allocations()


def run(model: Path, folder: Path) -> tuple[int, np.ndarray]:
    """The bytes of the tensors in the arena, by the interpreter's own count, and the first output."""
    outputs = folder / "outputs.npz"
    ran = subprocess.run([sys.executable, __file__, model, outputs], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    head = re.search(r"Arena allocation head (\d+) bytes", ran.stdout + ran.stderr)
    return int(head[1]), np.load(outputs)["arr_0"]


def skip() -> bytes:
    """mean(reshape(|x|)) + mean(x): a network in which the reshape needs a third large tensor, unless it is in place."""
    model = tiny.Model()
    x, a = model.tensor("x", (1, 4096)), model.tensor("a", (1, 4096))
    b = model.tensor("b", (4096, 1))
    c, d, y = (model.tensor(name, (1, 1)) for name in "cdy")
    extents = model.constant("extents", np.array([4096, 1], np.int32))
    first, last = (model.constant(f"axis{axis}", np.array([axis], np.int32)) for axis in (0, 1))
    keep = (27, {4: ("i8", 1)})
    model.op(tiny.ABS, [x], [a])
    model.op(tiny.RESHAPE, [a, extents], [b])
    model.op(tiny.MEAN, [b, first], [c], keep)
    model.op(tiny.MEAN, [x, last], [d], keep)
    model.op(tiny.ADD, [c, d], [y], tiny.ADD_OPTIONS)
    return model.bytes([x], [y])


class Plans(unittest.TestCase):
    def compare(self, model: Path, *options: str) -> dict:
        """Plans a model, and checks both files in the interpreter: the same bits, and the bytes that the command says."""
        with tempfile.TemporaryDirectory() as folder:
            planned = Path(folder) / "planned.tflite"
            said = subprocess.run(
                [COMMAND, "plan", model, "--arena", "--write", planned, "--json", *options], capture_output=True, text=True
            )
            self.assertEqual(said.returncode, 0, said.stderr)
            plan = json.loads(said.stdout)
            before, expected = run(model, Path(folder))
            after, found = run(planned, Path(folder))
        np.testing.assert_array_equal(expected, found)
        self.assertEqual((before, after), (plan["runtime_bytes"], plan["plan_bytes"]))
        return plan

    def test_real_networks_take_what_the_command_says(self) -> None:
        for name in ("mobilenet_v1", "iris_landmark", "posenet"):
            with self.subTest(name):
                fetched = subprocess.run([COMMAND, "models", "fetch", name], capture_output=True, text=True, check=True)
                # The first line is the model; the names of its classes may follow.
                plan = self.compare(Path(fetched.stdout.splitlines()[0].split(": ", 1)[1]))
                self.assertTrue(plan["is_optimal"])

    def test_a_reshape_in_place_saves_a_tensor(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "skip.tflite"
            model.write_bytes(skip())
            # The reference kernel of MEAN asks for two buffers of a few integers, which are rounded up.
            scratch = [f"--scratch={operator}=8" for operator in (2, 2, 3, 3)]
            plan = self.compare(model, *scratch)
        self.assertEqual((plan["runtime_bytes"], plan["plan_bytes"]), (3 * 16384, 2 * 16384 + 16 + 2 * 16))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        interpret(*sys.argv[1:])
    else:
        unittest.main()
