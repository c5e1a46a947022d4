"""Networks through the delegate, beside the runtime's own CPU."""

import unittest
from pathlib import Path

import numpy as np

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
