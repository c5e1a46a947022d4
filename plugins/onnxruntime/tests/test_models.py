"""Models of the catalogue, beside the runtime's own CPU provider."""

import time
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from support import CACHE, NAME, explained, off, on_cpu, reported, values

#: File, extents of open inputs, and options that bind these extents when the session is created.
MODELS = {
    "squeezenet": ("light_squeezenet.onnx", {}, {}),
    "shufflenet": ("light_shufflenet.onnx", {}, {}),
    "densenet121": ("light_densenet121.onnx", {}, {}),
    "resnet18": ("resnet18.onnx", {}, {}),
    "mobilenet_v2": ("mobilenet_v2.onnx", {}, {}),
    "efficientnet_lite0": ("efficientnet_lite0.onnx", {}, {}),
    # Its weights are also graph inputs, which a caller could override.
    "centerface": ("centerface.onnx", {}, {}),
    "retinaface": ("retinaface_mnet25.onnx", {}, {}),
    "mtcnn_pnet": ("mtcnn_pnet.onnx", {"input_1": [2, 64, 48, 3]}, {}),
    "ppocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": [2, 3, 48, 192]}, {"dim": "x:2=48"}),
    "ppocr_rec": ("ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 320]}, {"dim": "x:2=48,x:3=320"}),
    "minilm": (
        "paraphrase-MiniLM-L3-v2.onnx",
        {name: [2, 24] for name in ("input_ids", "attention_mask", "token_type_ids")},
        {},
    ),
}

#: Models with nodes of constants that several parts read. The runtime must fold these, which it does only where it also
#: joins and renames nodes.
FOLDED = {"squeezenet", "shufflenet", "densenet121", "retinaface"}


def interrupted(file: Path, every: int) -> bytes:
    """A model with casts to double and back, which are not supported, behind every nth node that computes floats."""
    model = onnx.shape_inference.infer_shapes(onnx.load(file))
    floats = {
        value.name
        for value in [*model.graph.value_info, *model.graph.output]
        if value.type.tensor_type.elem_type == TensorProto.FLOAT
    }
    nodes = []
    for index, node in enumerate(model.graph.node):
        nodes.append(node)
        result = node.output[0]
        if index % every == every - 1 and result in floats and not node.op_type.startswith("Constant"):
            inner, double = f"{result}/inner", f"{result}/double"
            node.output[0] = inner
            nodes.append(helper.make_node("Cast", [inner], [double], name=double, to=TensorProto.DOUBLE))
            nodes.append(helper.make_node("Cast", [double], [result], name=f"{result}/back", to=TensorProto.FLOAT))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return onnx.shape_inference.infer_shapes(model, data_prop=True).SerializeToString()


class Models(unittest.TestCase):
    def check_selection(self, model: Path | bytes, folds: bool, **options: str) -> str:
        """That `explain` says what the provider takes; a summary."""
        dims = [f"--dim={dim}" for dim in options.get("dim", "").split(",") if dim]
        said = explained(model, f"--min-operations={options['min_operations']}", *dims)
        named: dict[str, set[str]] = {"taken": set(), "left": set(), "unknown": set(), "known": set()}
        for node in said["nodes"]:
            named[node["verdict"]].add(node["name"])
        _, report = reported(model, plain=not folds, **options)
        left = {line.split("`")[1] for line in report if line.startswith("  left: node ")} - named["known"]
        self.assertLessEqual(left, named["left"] | named["unknown"])
        if not folds:
            self.assertEqual(left, named["left"] | named["unknown"])
        parts = len(said["partitions"])
        if not folds or not named["unknown"]:
            self.assertIn({0: "none of its", 1: "as one partition"}.get(parts, f"in {parts} partitions"), report[1])
        return f"{parts} parts, {len(left)} nodes left"

    def test_explain_says_what_is_taken(self) -> None:
        for name, (file, _, options) in MODELS.items():
            models = {"whole": CACHE / file, "interrupted": interrupted(CACHE / file, 7)}
            for kind, model in models.items():
                # A graph that is one partition is taken however small it is.
                for least in ("200000",) if kind == "whole" else ("0", "200000"):
                    for given in [options, {}] if options else [{}]:
                        with self.subTest(name, kind=kind, least=least, given=given):
                            said = self.check_selection(model, name in FOLDED, min_operations=least, **given)
                            print(f"{name}, {kind}, at least {least} operations, {given}: {said}")

    def test_answers_are_those_of_the_cpu(self) -> None:
        for name, (file, shapes, options) in MODELS.items():
            with self.subTest(name):
                begun = time.monotonic()
                session, report = reported(CACHE / file, **options)
                self.assertEqual(session.get_providers()[0], NAME)
                self.assertIn("nodes are taken, as one partition", report[1])
                taken, _, every = report[1].split(": ")[-1].split()[:3]
                self.assertEqual(taken, every, report)
                dims = [f"--dim={dim}" for dim in options.get("dim", "").split(",") if dim]
                said = explained(CACHE / file, *dims)
                self.assertEqual((said["left"], said["unknown"], len(said["partitions"])), (0, 0, 1))
                made = time.monotonic() - begun
                cpu = on_cpu(CACHE / file)
                feed = values(cpu, shapes)
                worst = off(session.run(None, feed), cpu.run(None, feed))
                print(f"{name}: {every} nodes, made in {made:.1f} s, off by {worst:.3f} of what is allowed")
                self.assertLessEqual(worst, 1)

    def test_a_budget_is_kept(self) -> None:
        file = CACHE / "light_squeezenet.onnx"
        cpu = on_cpu(file)
        feed = values(cpu)
        session, report = reported(file, budget="4MiB")
        planned = int(report[2].split(" bytes planned")[0].split()[-1])
        self.assertLessEqual(planned, 4 << 20)
        self.assertLessEqual(off(session.run(None, feed), cpu.run(None, feed)), 1)

    def test_16_bits_are_less_precise(self) -> None:
        file = CACHE / "mobilenet_v2.onnx"
        cpu = on_cpu(file)
        feed = values(cpu)
        session, _ = reported(file, precision="f16")
        differences = off(session.run(None, feed), cpu.run(None, feed))
        # 16-bit floats have a precision of ten bits, about a thousandth.
        self.assertLessEqual(differences, 5000)
        self.assertGreater(differences, 1)


if __name__ == "__main__":
    unittest.main()
