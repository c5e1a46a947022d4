"""Which nodes are taken, which are left, and that both together are right."""

import unittest

import numpy as np

import tiny
from support import Report, delegate, explained, interpreter, python, run, same_bits, values


class Nodes(unittest.TestCase):
    def test_explain_says_beforehand_what_is_taken(self) -> None:
        makers = [
            tiny.supported, tiny.split, tiny.constants, tiny.many_indices, tiny.squared, tiny.unsupported, tiny.custom,
            tiny.quantised,
        ]
        for make in makers:
            for least in (0, 100, 200000):
                with self.subTest(make.__name__, least=least):
                    report = Report()
                    interpreter(make(), delegate(report=report.path, min_operations=least))
                    said = explained(make(), least)
                    parts = [part["nodes"] for part in report.graph["parts"]]
                    self.assertEqual([part["nodes"] for part in said["partitions"]], parts)
                    left = [node["node"] for node in said["nodes"] if node["verdict"] != "taken"]
                    self.assertEqual(left, [number for number, _ in report.left])

    def test_parts_that_are_smaller_than_a_call_are_left(self) -> None:
        report = Report()
        made = interpreter(tiny.split(), delegate(report=report.path, min_operations=200000))
        self.assertTrue(same_bits(run(made), run(interpreter(tiny.split()))))
        self.assertEqual((report.taken, len(report.left)), ([0], 3))
        self.assertIn("operations, less than a call of the device costs", report.graph["nodes"][0]["left"])
        # A whole graph is taken, however small it is.
        report = Report()
        interpreter(tiny.supported(), delegate(report=report.path, min_operations=200000))
        self.assertEqual(report.left, [])

    def test_what_is_supported_is_one_part(self) -> None:
        report = Report()
        made = interpreter(tiny.supported(), delegate(report=report.path))
        self.assertTrue(same_bits(run(made), run(interpreter(tiny.supported()))))
        part = report.graph["parts"][0]
        self.assertEqual((part["nodes"], report.left), ([0, 1], []))
        self.assertEqual([part["inputs"], part["outputs"]], [[{"name": n, "bytes": 192}] for n in "xz"])
        # The runtime allocates no memory for tensors inside a part.
        [between] = [detail for detail in made.get_tensor_details() if detail["name"] == "y"]
        with self.assertRaisesRegex(ValueError, "Tensor data is null"):
            made.get_tensor(between["index"])

    def test_an_unsupported_node_splits_the_graph(self) -> None:
        report = Report()
        made = interpreter(tiny.split(), delegate(report=report.path))
        self.assertTrue(same_bits(run(made), run(interpreter(tiny.split()))))
        self.assertEqual([part["nodes"] for part in report.graph["parts"]], [[0], [2]])
        self.assertEqual(report.left, [(1, "REVERSE_SEQUENCE")])
        self.assertIn("the operator is not supported", report.graph["nodes"][1]["left"])

    def test_constants_that_are_computed(self) -> None:
        report = Report()
        made = interpreter(tiny.constants(), delegate(report=report.path))
        x = np.array([[1, -2, 3]], np.float32)
        c, d = (np.array([first, 2, 0.5], np.float32) for first in (1, 2))
        np.testing.assert_array_equal(run(made, [x])[0], np.abs((x + c)[:, ::-1] * c + d[::-1]))
        # Both parts compute c separately. The runtime computes |d|, and therefore d, because a node that is left
        # reads it.
        self.assertEqual([number for number, _ in report.left], [1, 2, 4, 6])
        self.assertIn("its result is a constant that the runtime reads", report.graph["nodes"][1]["left"])
        self.assertEqual([part["nodes"] for part in report.graph["parts"]], [[0, 3], [5, 7, 8]])
        self.assertEqual([len(part["inputs"]) for part in report.graph["parts"]], [1, 2])

    def test_where_nothing_is_supported_the_runtime_runs_it_and_is_told(self) -> None:
        done = python(
            "import tiny\n"
            "from support import *\n"
            "made = interpreter(tiny.unsupported(), delegate())\n"
            "assert same_bits(run(made), run(interpreter(tiny.unsupported())))\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("texpool: no node of the graph is taken, the runtime runs all 1 of them", done.stderr)
        self.assertIn("node 0 REVERSE_SEQUENCE `y`: the operator is not supported", done.stderr)

    def test_a_node_that_cannot_be_compiled_is_left_to_the_runtime_which_is_told(self) -> None:
        report = Report()
        made = interpreter(tiny.many_indices(), delegate(precision="f16", report=report.path))
        x = np.zeros((1, 4000), np.float32)
        x[0, 3001] = -7
        self.assertEqual(run(made, [x])[0].tolist(), [3001])
        self.assertEqual(report.left, [(1, "ARG_MAX")])
        self.assertIn("name 4000 positions, and 16-bit floats hold", report.graph["nodes"][1]["left"])
        code = "import tiny\nfrom support import *\nrun(interpreter(tiny.many_indices(), delegate(precision='f16')))\n"
        said = python(code).stderr
        self.assertIn("texpool: left to the runtime, since it cannot be compiled: node 1 ARG_MAX `place`", said)
        with self.assertRaisesRegex(RuntimeError, "nodes are left:\nnode 1 ARG_MAX"):
            interpreter(tiny.many_indices(), delegate(precision="f16", whole_graph=1))

    def test_what_a_run_clamps_or_cannot_compute_is_told_once(self) -> None:
        code = (
            "import tiny\n"
            "import numpy as np\n"
            "from support import *\n"
            "made = interpreter(tiny.squared(), delegate({}))\n"
            "for _ in range(3):\n"
            "    run(made, [np.full((1, 4), {}, np.float32)])\n"
        )
        for options, value, said in (
            ("precision='f16'", 50, "values are beyond the range of the precision and were stored as"),
            ("", "np.nan", "output `z` has values that are not finite: 4 NaN"),
        ):
            done = python(code.format(options, value))
            self.assertEqual((done.returncode, done.stderr.count("texpool: warning, told once: ")), (0, 1), done.stderr)
            self.assertIn(said, done.stderr)
        self.assertNotIn("texpool", python(code.format("precision='f16'", 2)).stderr)

    def test_verbose_says_what_is_taken_and_otherwise_there_is_silence(self) -> None:
        code = "import tiny\nfrom support import *\nrun(interpreter(tiny.split(), delegate({})))\n"
        said = python(code.format("verbose=True")).stderr
        self.assertIn("texpool: 2 of 3 nodes are taken, in 2 parts\n", said)
        self.assertIn("texpool: node 1 REVERSE_SEQUENCE `reversed`: the operator is not supported", said)
        self.assertNotIn("texpool", python(code.format("")).stderr)

    def test_whole_graph_takes_all_or_says_what_is_left(self) -> None:
        made = interpreter(tiny.supported(), delegate(whole_graph=1))
        self.assertTrue(same_bits(run(made), run(interpreter(tiny.supported()))))
        said = "`whole_graph` is set, and nodes are left:\nnode 1 REVERSE_SEQUENCE `reversed`"
        with self.assertRaisesRegex(RuntimeError, said):
            interpreter(tiny.split(), delegate(whole_graph=1))

    def test_extents_that_are_known_only_while_running_are_left_to_the_runtime(self) -> None:
        x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6)
        # Other extents require another interpreter, because LiteRT 2.3.0 keeps the extents of the first run, even
        # without a delegate.
        for shape in ([3, 4], [12, 1]):
            report = Report()
            made, plain = interpreter(tiny.dynamic(), delegate(report=report.path)), interpreter(tiny.dynamic())
            self.assertEqual([node for node, _ in report.left], [1, 2, 3])
            self.assertIn("known only while the model runs", report.graph["nodes"][2]["left"])
            inputs = [x, np.array(shape, np.int32)]
            for _ in range(2):
                answer = run(made, inputs)
                self.assertEqual(answer[0].shape, tuple(shape))
                self.assertTrue(same_bits(answer, run(plain, inputs)))

    def test_a_custom_operator_that_the_runtime_does_not_know(self) -> None:
        made = interpreter(tiny.custom(), delegate())
        x = np.array([[1, 2], [3, 4]], np.float32)
        answer = run(made, [x.reshape(1, 2, 2, 1)])[0]
        np.testing.assert_allclose(answer[0, :, :, 0], np.kron(x, np.ones((2, 2))) + 0.5)

    def test_regions_of_a_face(self) -> None:
        made = interpreter(tiny.region(), delegate(whole_graph=1))
        # A rectangle of three by two pixels, half a pixel to the right of the image.
        face = np.array([[[0.5, 0, 7], [3.5, 0, 8], [3.5, 2, 9], [0.5, 2, 0]]], np.float32)
        matrix, picture, moved = run(made, [face, np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)])
        np.testing.assert_allclose(matrix[0], [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-6)
        np.testing.assert_allclose(picture[0, :, :, 0], [[0.5, 1.5, 0], [3.5, 4.5, 0]], atol=1e-5)
        np.testing.assert_allclose(moved, face + np.array([0.5, 0, 0], np.float32), atol=1e-6)

    def test_graphs_of_branches(self) -> None:
        report = Report()
        made = interpreter(tiny.branches(), delegate(report=report.path))
        x = np.array([[-2, -1, 0, 3]], np.float32)
        for true, expected in ((True, np.abs(x) + 1), (False, x + x), (True, np.abs(x) + 1)):
            np.testing.assert_array_equal(run(made, [x, np.array([true])])[0], expected)
        self.assertEqual(report.taken, [0, 2, 1])

    def test_eight_bits(self) -> None:
        made, plain = interpreter(tiny.quantised(), delegate(whole_graph=1)), interpreter(tiny.quantised())
        answer, expected = run(made)[0].astype(int), run(plain)[0].astype(int)
        # They differ by at most one step, because the runtime multiplies in fixed point.
        self.assertLessEqual(np.abs(answer - expected).max(), 1)


class Extents(unittest.TestCase):
    def test_inputs_of_other_extents_are_planned_again(self) -> None:
        signature = (-1, 4, 4, 3)
        for model in (tiny.supported(signature=signature), tiny.split(signature=signature)):
            report = Report()
            made, plain = interpreter(model, delegate(report=report.path)), interpreter(model)
            taken = report.graph["taken"]
            for batch in (3, 1, 5, 5):
                for one in (made, plain):
                    one.resize_tensor_input(0, [batch, 4, 4, 3])
                    one.allocate_tensors()
                answer = run(made)
                self.assertEqual(answer[0].shape[0], batch)
                self.assertTrue(same_bits(answer, run(plain, values(made))))
                self.assertEqual(report.graph["taken"], taken)

    def test_before_they_are_planned_at_all(self) -> None:
        from support import runtime

        model = tiny.supported(signature=(-1, 4, 4, 3))
        made = runtime.Interpreter(model_content=model, experimental_delegates=[delegate()])
        made.resize_tensor_input(0, [2, 4, 4, 3])
        made.allocate_tensors()
        self.assertEqual(run(made)[0].shape, (2, 4, 4, 3))


class Layout(unittest.TestCase):
    def test_the_structs_of_this_runtime(self) -> None:
        report = Report()
        interpreter(tiny.split(), delegate(report=report.path))
        layout = report.graph["layout"]
        print(f"this runtime's structs: {layout}")
        self.assertEqual((layout["TfLiteTensor"], layout["TfLiteNode"]), (112, 80))
        # Older versions lack the last field.
        self.assertIn(layout["TfLiteRegistration"], (80, 88))


if __name__ == "__main__":
    unittest.main()
