"""What is taken of a graph, and what is left: the answer is right either way, and the user is told."""

import unittest

import numpy as np
from onnx import NodeProto, TensorProto, helper

from support import constant, explained, file, off, on_cpu, python, reported, session, small, tensor, values, weights


def imputer(operand: str, result: str) -> NodeProto:
    """An operator of the domain of trees and labels that is not supported. It leaves ordinary numbers as they are."""
    values = {"imputed_value_floats": [0.5], "replaced_value_float": -1e9}
    return helper.make_node("Imputer", [operand], [result], name="imputer", domain="ai.onnx.ml", **values)


def split(height: int | str = 12) -> bytes:
    """Two convolutions with an operator between them that is not supported."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        imputer("b", "c"),
        helper.make_node("Conv", ["c", "w2"], ["d"], name="second"),
        helper.make_node("Sigmoid", ["d"], ["y"], name="sigmoid"),
    ]
    constants = [weights("w", 8, 3, 3, 3), weights("w2", 4, 8, 1, 1)]
    between = [tensor("c", [2, 8, height, 12])]
    return file(nodes, [tensor("x", [2, 3, height, 12])], [tensor("y", [2, 4, height, 12])], constants, between)


def many_indices() -> bytes:
    """The place of the greatest of 4000 magnitudes: more places than 16-bit floats tell apart."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"], name="square"),
        helper.make_node("ArgMax", ["a"], ["y"], name="place", axis=1, keepdims=0),
    ]
    return file(nodes, [tensor("x", [1, 4000])], [tensor("y", [1], TensorProto.INT64)])


def fourth_power() -> bytes:
    """x to the fourth."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"], name="square"),
        helper.make_node("Mul", ["a", "a"], ["y"], name="fourth"),
    ]
    return file(nodes, [tensor("x", [1, 4])], [tensor("y", [1, 4])])


def none() -> bytes:
    """Nothing that is supported."""
    return file([imputer("x", "y")], [tensor("x", [4, 5])], [tensor("y", [4, 5])])


def branches() -> bytes:
    """A condition on what was computed, with a body on either side."""

    def body(operator: str) -> object:
        node = helper.make_node(operator, ["a"], [operator], name=operator)
        return helper.make_graph([node], operator, [], [tensor(operator, [1, 8, 16, 16])])

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("ReduceSum", ["a"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"], name="positive"),
        helper.make_node("If", ["positive"], ["b"], name="if", then_branch=body("Relu"), else_branch=body("Neg")),
        helper.make_node("Tanh", ["b"], ["y"], name="tanh"),
    ]
    constants = [weights("w", 8, 3, 3, 3), constant("zero", np.array(0, np.float32))]
    return file(nodes, [tensor("x", [1, 3, 16, 16])], [tensor("y", [1, 8, 16, 16])], constants)


def typed() -> bytes:
    """Types of all kinds go in and out: integers, truth values, 16-bit floats."""
    nodes = [
        helper.make_node("Max", ["i", "j"], ["most"], name="max"),
        helper.make_node("Not", ["t"], ["other"], name="not"),
        helper.make_node("Cast", ["u"], ["bytes"], name="cast", to=TensorProto.FLOAT16),
        helper.make_node("Mul", ["bytes", "h"], ["product"], name="mul"),
    ]
    inputs = [
        tensor("i", [2, 3], TensorProto.INT32),
        tensor("j", [2, 3], TensorProto.INT32),
        tensor("t", [5], TensorProto.BOOL),
        tensor("u", [4], TensorProto.UINT8),
        tensor("h", [4], TensorProto.FLOAT16),
    ]
    outputs = [
        tensor("most", [2, 3], TensorProto.INT32),
        tensor("other", [5], TensorProto.BOOL),
        tensor("product", [4], TensorProto.FLOAT16),
    ]
    return file(nodes, inputs, outputs)


def open_extents() -> bytes:
    """Any batch, any image whose extents are even."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["a"], ["b"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["b"], ["shape"], name="shape"),
        helper.make_node("Gather", ["shape", "axis"], ["batch"], name="gather", axis=0),
        helper.make_node("Concat", ["batch", "rest"], ["flat"], name="concat", axis=0),
        helper.make_node("Reshape", ["b", "flat"], ["y"], name="reshape"),
    ]
    constants = [weights("w", 4, 3, 3, 3), constant("axis", np.array([0])), constant("rest", np.array([4, -1]))]
    inputs = [tensor("x", ["batch", 3, "height", "width"])]
    return file(nodes, inputs, [tensor("y", ["batch", 4, "pixels"])], constants)


def dynamically_quantised() -> bytes:
    """A convolution of 8 bits whose scale is found in the run, and the arithmetic around it. The width is open."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"], name="quantise"),
        helper.make_node("ConvInteger", ["q", "w", "zero"], ["sum"], name="conv"),
        helper.make_node("Cast", ["sum"], ["real"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["both"], name="scales"),
        helper.make_node("Mul", ["real", "both"], ["y"], name="scaled"),
    ]
    w = constant("w", np.arange(-4, 5, dtype=np.int8).reshape(1, 1, 3, 3))
    constants = [w, constant("w_scale", np.float32(0.25))]
    return file(nodes, [tensor("x", [1, 1, 8, "width"])], [tensor("y", [1, 1, 6, "rest"])], constants)


class Parts(unittest.TestCase):
    def test_explain_says_beforehand_what_is_taken(self) -> None:
        for make in (split, small, many_indices, fourth_power, none, branches, dynamically_quantised):
            for least in ("0", "100000", "200000"):
                with self.subTest(make.__name__, least=least):
                    # Without the runtime's own changes to the graph, nodes are those of the file.
                    _, report = reported(make(), plain=True, min_operations=least)
                    said = explained(make(), f"--min-operations={least}")
                    lines = [line for line in report if line.startswith("graph ") and "the body of" not in line]
                    every, parts = len(said["nodes"]), len(said["partitions"])
                    expected = {
                        0: f"none of its {every} nodes is taken",
                        1: f"{said['taken']} of {every} nodes are taken, as one partition",
                    }.get(parts, f"{said['taken']} of {every} nodes are taken, in {parts} partitions")
                    self.assertIn(expected, lines[-1])

    def test_parts_that_are_smaller_than_a_call_are_left(self) -> None:
        made, report = reported(split(), min_operations="100000")
        feed = values(made)
        self.assertLessEqual(off(made.run(None, feed), on_cpu(split()).run(None, feed)), 1)
        # The first convolution has 62,208 multiplications and as many additions, the second 9,216 of each.
        self.assertEqual(report[1], "graph `main`: 2 of 5 nodes are taken, as one partition")
        self.assertRegex(
            "\n".join(report), "left: node `second` Conv: its part of the graph has [0-9]+ operations, less than a call"
        )

    def check(self, model: bytes, **options: str) -> list[str]:
        """Whether the answer is the CPU's; the report."""
        made, report = reported(model, **options)
        cpu = on_cpu(model)
        for seed in (1, 2):
            feed = values(cpu, seed=seed)
            self.assertLessEqual(off(made.run(None, feed), cpu.run(None, feed)), 1)
        return report

    def test_a_node_that_cannot_be_compiled_is_left_and_the_log_says_so(self) -> None:
        made, lines = reported(many_indices(), precision="f16")
        x = np.zeros((1, 4000), np.float32)
        x[0, 3001] = -7
        self.assertEqual(made.run(None, {"x": x})[0].tolist(), [3001])
        self.assertIn("1 of 2 nodes are taken", "\n".join(lines))
        self.assertIn("left: node `place` ArgMax: node 1 (ARG_MAX): the indices `y` name 4000 positions", "\n".join(lines))
        code = "from support import *\nfrom test_parts import many_indices\nsession(many_indices(), precision='f16')\n"
        said = python(code).stderr
        self.assertIn("left to other providers, since it cannot be compiled: node `place` ArgMax", said)

    def test_what_a_run_clamps_or_cannot_compute_is_told_once(self) -> None:
        code = (
            "from support import *\n"
            "from test_parts import fourth_power\n"
            "made = session(fourth_power(), {})\n"
            "for _ in range(3):\n"
            "    made.run(None, {{'x': np.full((1, 4), {}, np.float32)}})\n"
        )
        for options, value, said in (
            ("precision='f16'", 50, "values are beyond the range of the precision and were stored as"),
            ("", "np.nan", "output `y` has values that are not finite: 4 NaN"),
        ):
            done = python(code.format(options, value))
            self.assertEqual((done.returncode, done.stderr.count("texpool: told once: ")), (0, 1), done.stderr)
            self.assertIn(said, done.stderr)
        self.assertNotIn("texpool", python(code.format("precision='f16'", 2)).stderr)

    def test_a_node_in_the_middle_is_left(self) -> None:
        report = self.check(split())
        self.assertEqual(report[1], "graph `main`: 4 of 5 nodes are taken, in 2 partitions")
        left = [line for line in report if "left:" in line]
        self.assertEqual(len(left), 1)
        self.assertRegex(left[0], "node `imputer` ai.onnx.ml.Imputer: the operator is not supported; ")

    def test_a_model_of_which_nothing_is_taken_runs_and_says_so(self) -> None:
        report = self.check(none())
        self.assertEqual(report[1], "graph `main`: none of its 1 nodes is taken, so all of it runs elsewhere")
        said = python("import support, test_parts; support.session(test_parts.none())")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("none of its 1 nodes is taken, so all of it runs elsewhere", said.stderr)

    def test_the_log_names_what_is_left_where_it_is_asked_to(self) -> None:
        for verbose, told in (("on", True), ("off", False)):
            said = python(f"import support, test_parts; support.session(test_parts.split(), verbose='{verbose}')")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual("left: node `imputer` ai.onnx.ml.Imputer" in said.stderr, told, said.stderr)

    def test_bodies_of_control_flow_are_left(self) -> None:
        report = self.check(branches())
        text = "\n".join(report)
        self.assertIn("node `if` If: control flow is not supported", text)
        self.assertIn("the body of `if`", text)
        # The If node itself is left and splits the other nodes, which depend on it only through its bodies.
        self.assertIn("in 2 partitions", text)

    def test_all_types_go_in_and_out(self) -> None:
        model = typed()
        made, report = reported(model)
        self.assertIn("4 of 4 nodes are taken", report[1])
        feed = {
            "i": np.array([[1, -2, 3], [4, 5, 1 << 24]], np.int32),
            "j": np.array([[-1, 2, 3], [4, 6, -(1 << 24)]], np.int32),
            "t": np.array([True, False, True, True, False]),
            "u": np.array([0, 1, 128, 255], np.uint8),
            "h": np.array([1, -0.5, 0.25, 2], np.float16),
        }
        self.assertEqual(off(made.run(None, feed), on_cpu(model).run(None, feed)), 0)
        # Values that 32-bit floats cannot represent are rejected instead of rounded.
        with self.assertRaisesRegex(Exception, "texpool: input `i`: element 5 is 16777217"):
            made.run(None, {**feed, "i": np.array([[1, 1, 1], [1, 1, (1 << 24) + 1]], np.int32)})
        self.assertEqual(off(made.run(None, feed), on_cpu(model).run(None, feed)), 0)

    def test_integers_are_left_where_floats_are_not_the_same(self) -> None:
        def model(operator: str, kind: int, **attributes: int) -> bytes:
            operands = ["i"] if operator == "Cast" else ["i", "j"]
            nodes = [
                helper.make_node(operator, operands, ["k"], name="left", **attributes),
                helper.make_node("Cast", ["k"], ["f"], name="cast", to=TensorProto.FLOAT),
                helper.make_node("Exp", ["f"], ["e"], name="exp"),
                helper.make_node("Tanh", ["e"], ["y"], name="tanh"),
            ]
            inputs = [tensor(name, [3], kind) for name in operands]
            result = attributes.get("to", kind)
            return file(nodes, inputs, [tensor("y", [3]), tensor("k", [3], result)])

        for operator, kind, attributes in [
            ("Add", TensorProto.UINT8, {}),
            ("Mul", TensorProto.INT32, {}),
            ("Cast", TensorProto.INT32, {"to": TensorProto.UINT8}),
        ]:
            with self.subTest(operator):
                made, report = reported(model(operator, kind, **attributes))
                self.assertEqual(report[1], "graph `main`: 3 of 4 nodes are taken, as one partition")
                dtype = {TensorProto.UINT8: np.uint8, TensorProto.INT32: np.int32}[kind]
                values = np.array([200, 255, 3], dtype) if dtype == np.uint8 else np.array([4001, 300, -7], dtype)
                feed = {node.name: values for node in made.get_inputs()}
                wanted = on_cpu(model(operator, kind, **attributes)).run(None, feed)
                self.assertLessEqual(off(made.run(None, feed), wanted), 1)

    def test_only_the_outputs_that_are_asked_for(self) -> None:
        made = session(typed())
        feed = {
            "i": np.ones((2, 3), np.int32),
            "j": np.ones((2, 3), np.int32),
            "t": np.ones(5, bool),
            "u": np.ones(4, np.uint8),
            "h": np.ones(4, np.float16),
        }
        self.assertEqual(made.run(["other"], feed)[0].tolist(), [False] * 5)

    def test_shapes_may_differ_from_run_to_run(self) -> None:
        model = open_extents()
        made, report = reported(model)
        self.assertIn("6 of 6 nodes are taken, as one partition", report[1])
        cpu = on_cpu(model)
        shapes = [(1, 8, 8), (2, 8, 8), (1, 20, 12), (3, 6, 6), (2, 10, 10), (4, 4, 4), (1, 8, 8), (5, 30, 2)]
        for batch, height, width in [*shapes, *shapes]:
            feed = values(cpu, {"x": [batch, 3, height, width]})
            self.assertLessEqual(off(made.run(None, feed), cpu.run(None, feed)), 1)

    def test_extents_that_are_said_are_compiled_at_once(self) -> None:
        _, report = reported(open_extents())
        self.assertIn("compiled at its first run", report[2])
        _, report = reported(open_extents(), dim="batch=2, height=8, width=8")
        self.assertIn("bytes planned", report[2])

    def test_the_report_says_what_open_extents_were_tried_as(self) -> None:
        _, report = reported(split("height"))
        self.assertIn("  open extents were tried as height=224; say others by the option `dim`", report)
        _, report = reported(split("height"), dim="height=12")
        self.assertFalse([line for line in report if "open extents" in line])

    def test_bound_values_go_in_and_out(self) -> None:
        made, cpu = session(small()), on_cpu(small())
        feed = values(cpu)
        binding = made.io_binding()
        binding.bind_cpu_input("x", feed["x"])
        binding.bind_output("y")
        made.run_with_iobinding(binding)
        self.assertLessEqual(off(binding.copy_outputs_to_cpu(), cpu.run(None, feed)), 1)


if __name__ == "__main__":
    unittest.main()
