"""Networks through the delegate, beside the runtime's own CPU."""

import struct
import unittest
from pathlib import Path

import numpy as np
from flatbuffers.table import Table

from support import CACHE, Report, delegate, explained, interpreter, run
from topologies import TOPOLOGIES

#: For each network: its file, its number of nodes, and the maximum difference of an output, relative to its largest
#: value. Differences arise because the runtime adds in another order. For 8-bit networks, a step is one unit of the
#: output, and results differ by as many steps as those of the runtime's two sets of kernels do (README, "Eight
#: bits").
MODELS = {
    "blazeface": ("blaze_face_short_range.tflite", 164, 1e-5),
    "mobilenet_v1": ("mobilenet_v1_1.0_224.tflite", 31, 1e-4),
    "deeplabv3": ("deeplabv3_257_mv_gpu.tflite", 70, 1e-4),
    "posenet": ("posenet_mv1_075_float_from_checkpoints.tflite", 31, 1e-4),
    "hand_landmark_lite": ("hand_landmark_lite.tflite", 167, 1e-4),
    "face_landmark": ("face_landmark.tflite", 210, 1e-4),
    "iris_landmark": ("iris_landmark.tflite", 169, 1e-4),
    # Has sparse weights.
    "face_detection_full_range": ("face_detection_full_range_sparse.tflite", 388, 1e-4),
    # Quantized to eight bits.
    "inception_v3": ("inception_v3_quant.tflite", 125, 6 / 255),
}


#: Builtin operators of these networks, and operators of the same operands and options that texpool does not support: ADD
#: becomes ATAN2, MAX_POOL_2D and AVERAGE_POOL_2D become L2_POOL_2D.
NOT_SUPPORTED = {0: 156, 17: 12, 1: 12}
#: Options for a search that ends at once.
QUICK = {"deadline": 0}


def replaced(model: bytes, operators: dict[int, int]) -> bytes:
    """A model with other operators."""
    changed = bytearray(model)
    root = Table(model, struct.unpack_from("<I", model)[0])
    place = root.Offset(6)
    codes = [root.Indirect(root.Vector(place) + 4 * index) for index in range(root.VectorLen(place))]
    for code in (Table(model, start) for start in codes):
        # Older files have only the field of eight bits.
        old, new = (code.Offset(slot) for slot in (4, 10))
        found = max(model[code.Pos + old] if old else 0, struct.unpack_from("<i", model, code.Pos + new)[0] if new else 0)
        if found in operators:
            if old:
                changed[code.Pos + old] = min(operators[found], 127)
            if new:
                struct.pack_into("<i", changed, code.Pos + new, operators[found])
    return bytes(changed)


class Models(unittest.TestCase):
    def compare(self, name: str, model: bytes | Path, nodes: int, tolerance: float) -> None:
        report = Report()
        answers = run(interpreter(model, delegate(report=report.path, whole_graph=1)))
        expected, graph = run(interpreter(model)), report.graph
        self.assertEqual((graph["taken"], len(graph["nodes"]), len(graph["parts"])), (nodes, nodes, 1))
        said = explained(model, 200000)
        self.assertEqual((said["taken"], [len(part["nodes"]) for part in said["partitions"]]), (nodes, [nodes]))
        worst = 0.0
        for answer, reference in zip(answers, expected, strict=True):
            scale = 255.0 if reference.dtype == np.uint8 else float(np.abs(reference).max())
            difference = np.abs(answer.astype(np.float64) - reference.astype(np.float64)).max()
            worst = max(worst, float(difference / scale))
        print(f"{name}: {nodes} nodes, {len(answers)} outputs, greatest difference {worst:.1e}")
        self.assertLessEqual(worst, tolerance)

    def test_networks_answer_as_on_the_cpu(self) -> None:
        for name, (file, nodes, tolerance) in MODELS.items():
            with self.subTest(name):
                self.compare(name, CACHE / file, nodes, tolerance)

    def test_a_network_with_operators_that_the_runtime_does_not_know(self) -> None:
        file, nodes = CACHE / "face_landmark_with_attention.tflite", 712
        report = Report()
        answers = run(interpreter(file, delegate(report=report.path, whole_graph=1)))
        self.assertEqual((report.graph["taken"], len(report.graph["parts"])), (nodes, 1))
        self.assertEqual(explained(file, 200000)["taken"], nodes)
        self.assertEqual([answer.size for answer in answers], [1404, 160, 142, 142, 10, 10, 1])
        self.assertTrue(all(np.isfinite(answer).all() for answer in answers))

    def test_explain_says_what_is_taken_of_networks_with_operators_that_are_not_supported(self) -> None:
        divided = set()
        for name, (file, _, _) in MODELS.items():
            # The runtime has no such operators of eight bits.
            operators = {} if "quant" in file else NOT_SUPPORTED
            model = replaced((CACHE / file).read_bytes(), operators)
            for least in (0, 200000):
                with self.subTest(name, least=least):
                    report = Report()
                    # Few trials are enough to know whether a part can be compiled.
                    interpreter(model, delegate(report=report.path, min_operations=least, **QUICK))
                    said = explained(model, least)
                    parts = [part["nodes"] for part in report.graph["parts"]]
                    self.assertEqual([part["nodes"] for part in said["partitions"]], parts)
                    left = {node["node"]: node["left"] for node in report.graph["nodes"] if node["left"]}
                    reasons = {
                        node["node"]: f"{node['reason']}; {node['hint']}"
                        for node in said["nodes"]
                        if node["verdict"] != "taken"
                    }
                    self.assertEqual(reasons, left)
                    print(f"{name}, at least {least} operations: {len(parts)} parts, {len(left)} nodes left")
                    if len(parts) > 1:
                        divided.add(name)
        self.assertGreaterEqual(divided, {"blazeface", "deeplabv3", "hand_landmark_lite", "face_landmark", "iris_landmark"})

    def test_topologies_answer_as_on_the_cpu(self) -> None:
        for name, (make, nodes) in TOPOLOGIES.items():
            with self.subTest(name):
                self.compare(name, make(), nodes, 1e-4)

    def test_a_budget_and_16_bits(self) -> None:
        file = CACHE / MODELS["mobilenet_v1"][0]
        expected = run(interpreter(file))[0]
        rough = 5e-2
        for options, tolerance in (
            ({"budget": "4MiB"}, 1e-4), ({"precision": "f16"}, rough), ({"weights": "f16"}, rough)
        ):
            with self.subTest(options):
                report = Report()
                answer = run(interpreter(file, delegate(report=report.path, **options)))[0]
                self.assertLessEqual(np.abs(answer - expected).max(), tolerance * expected.max())
                planned = report.graph["parts"][0]["planned"]
                if "budget" in options:
                    self.assertLessEqual(planned["device"], 4 << 20)


if __name__ == "__main__":
    unittest.main()
