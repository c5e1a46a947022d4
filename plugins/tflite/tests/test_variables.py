"""Variables, which keep their values from run to run: all of a graph are taken or none, with the values of the runtime."""

import gc
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import tiny
from support import Report, delegate, explained_graphs, interpreter, python, run, runtime, same_bits, values

RUNS = 6


def inputs(made: Any, seed: int) -> list[list[np.ndarray]]:
    """Inputs for several runs."""
    generator = np.random.default_rng(seed)

    def one(array: np.ndarray) -> np.ndarray:
        if array.dtype == np.bool_:
            return generator.random(array.shape) > 0.5
        return generator.integers(-20, 20, array.shape).astype(array.dtype)

    return [[one(array) for array in values(made)] for _ in range(RUNS)]


def plainly(model: bytes, *delegates: Any) -> Any:
    """An interpreter with the runtime's plain kernels, which are those that define its results."""
    resolver = runtime.OpResolverType.BUILTIN_REF
    what = {"experimental_op_resolver_type": resolver, "experimental_delegates": list(delegates) or None}
    made = runtime.Interpreter(model_content=model, **what)
    made.allocate_tensors()
    return made


class Variables(unittest.TestCase):
    def compare(self, made: Any, plain: Any, given: Sequence[list[np.ndarray]]) -> None:
        for arrays in given:
            answer, expected = run(made, arrays), run(plain, arrays)
            self.assertTrue(same_bits(answer, expected), (answer, expected))

    def check(self, model: bytes, taken: list[int], reason: str | None = None) -> None:
        """Compares runs with the runtime's, and the nodes that are taken with those that `texpool explain` names."""
        report = Report()
        made = interpreter(model, delegate(report=report.path, fake_quant="reference"))
        self.compare(made, plainly(model), inputs(made, 1))
        self.assertEqual([graph["taken"] for graph in explained_graphs(model)], taken)
        # The older runtime hands over branches once more.
        self.assertEqual(sorted(report.taken), sorted(taken))
        left = report.graphs[0]["nodes"][0]["left"]
        if reason is None:
            self.assertIsNone(left)
        else:
            self.assertIn(reason, left)

    def test_a_streaming_network_is_taken_whole(self) -> None:
        for dtype in (tiny.FLOAT32, tiny.INT8):
            with self.subTest(dtype):
                self.check(tiny.streaming(dtype), [12, 4])
        interpreter(tiny.streaming(), delegate(whole_graph=1))

    def test_a_variable_of_no_axes(self) -> None:
        self.check(tiny.counter(), [6, 2])

    def test_variables_are_left_if_nodes_lie_between_theirs_that_are_left(self) -> None:
        # Other nodes are taken all the same.
        model = tiny.streaming(middle=tiny.REVERSE_SEQUENCE)
        self.check(model, [4, 0], "nodes that are left lie between those of the variables")

    def test_variables_that_another_graph_uses_are_left(self) -> None:
        self.check(tiny.shared_with_a_branch(), [1, 1, 1, 0], "another graph of the model has the variable, too")

    def test_variables_whose_first_values_are_computed_are_left(self) -> None:
        self.check(tiny.computed_first_values(), [1, 0], "which assigns no constant")

    def test_a_variable_without_a_first_value_is_the_runtimes(self) -> None:
        model, report = tiny.without_first_value(), Report()
        made, plain = plainly(model, delegate(report=report.path)), plainly(model)
        self.assertEqual(report.taken, [1])
        self.assertIn("read before it has a value", report.graph["nodes"][1]["left"])
        for one in (made, plain):
            with self.assertRaisesRegex(RuntimeError, "variable != nullptr"):
                run(one)

    def test_interpreters_share_no_values(self) -> None:
        model, shared = tiny.streaming(), delegate()
        made = [interpreter(model, shared) for _ in range(2)]
        plain = [plainly(model) for _ in range(2)]
        # In turns, with other inputs.
        for pair in zip(inputs(made[0], 1), inputs(made[0], 2), strict=True):
            for index, arrays in enumerate(pair):
                self.compare(made[index], plain[index], [arrays])
        del made[0]
        gc.collect()
        self.compare(interpreter(model, shared), plainly(model), inputs(plain[0], 3))
        self.compare(made[0], plain[1], inputs(plain[0], 4))

    def test_values_last_as_long_as_the_runtimes(self) -> None:
        model = tiny.streaming()
        made, plain = interpreter(model, delegate()), plainly(model)
        given = inputs(made, 1)
        self.compare(made, plain, given)
        # This resets other tensors, such as the state of an LSTM.
        for one in (made, plain):
            one.reset_all_variables()
        self.compare(made, plain, given)
        for one in (made, plain):
            one.allocate_tensors()
        self.compare(made, plain, given)

    def test_inputs_that_are_resized(self) -> None:
        model = tiny.counter((4,), (-1, 4))
        made, plain = interpreter(model, delegate(whole_graph=1)), plainly(model)
        for one in (made, plain):
            one.resize_tensor_input(0, [3, 4])
            one.allocate_tensors()
        self.compare(made, plain, inputs(made, 1))
        # Another session would begin with the first values.
        made.resize_tensor_input(0, [2, 4])
        made.allocate_tensors()
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "texpool: inputs have other extents than in earlier runs"):
                run(made)

    def test_there_is_silence(self) -> None:
        said = python("import tiny\nfrom support import *\nrun(interpreter(tiny.streaming(), delegate()))\n").stderr
        self.assertNotRegex(said, "texpool|ERROR")


if __name__ == "__main__":
    unittest.main()
