"""LiteRT's `CompiledModel` with the library as its GPU accelerator. Of `ai-edge-litert` alone."""

import shutil
import tempfile
import unittest
from pathlib import Path

import numpy as np

import tiny
from support import CACHE, LIBRARY, python

#: Runs a model on an accelerator, and prints whether all nodes were accelerated and the results.
CODE = """
import sys
import numpy as np
import tiny
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

environment = Environment.create(runtime_path={folder!r})
model = CompiledModel.{made}, hardware_accel={hardware}, environment=environment)
print("accelerated:", model.is_fully_accelerated())
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
key = next(iter(model.get_signature_list()))
generator = np.random.default_rng(1)
for buffer, detail in zip(inputs, model.get_input_tensor_details(key).values()):
    buffer.write(generator.uniform(-1, 1, int(np.prod(detail["shape"]))).astype(np.float32))
for _ in range(2):
    model.run_by_index(0, inputs, outputs)
details = model.get_output_tensor_details(key).values()
answers = [b.read(int(np.prod(d["shape"])), np.float32) for b, d in zip(outputs, details)]
np.save({answer!r}, np.concatenate(answers))
"""

#: Runs a model whose input is resized, and then a hundred others in succession.
LIVES = """
import numpy as np
import tiny
from support import resident_bytes
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

environment = Environment.create(runtime_path={folder!r})

def made():
    model = tiny.supported(signature=(-1, 4, 4, 3))
    return CompiledModel.from_buffer(model, hardware_accel=HardwareAccelerator.GPU, environment=environment)

def run(model, batch):
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    values = np.random.default_rng(batch).uniform(-1, 1, batch * 48).astype(np.float32)
    inputs[0].write(values)
    model.run_by_index(0, inputs, outputs)
    np.testing.assert_array_equal(outputs[0].read(batch * 48, np.float32), np.abs(values) + 1)

model = made()
for batch in (1, 3, 1, 2):
    model.resize_input_tensor(0, [batch, 4, 4, 3])
    run(model, batch)
for life in range(200):
    if life == 100:
        before = resident_bytes()
    run(made(), 1)
print("grown:", resident_bytes() - before)
"""

GPU, CPU = "HardwareAccelerator.GPU", "HardwareAccelerator.CPU"


class CompiledModels(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # The runtime looks for this file name before its built-in accelerator.
        shutil.copy(LIBRARY, self.folder / "libLiteRtGpuAccelerator.so")

    def answer(self, made: str, hardware: str, **env: str) -> tuple[np.ndarray | None, str]:
        file = self.folder / "answer.npy"
        file.unlink(missing_ok=True)
        done = python(CODE.format(folder=str(self.folder), made=made, hardware=hardware, answer=str(file)), **env)
        return (np.load(file) if file.exists() else None), done.stdout + done.stderr

    def test_networks_are_accelerated_and_answer_as_on_the_cpu(self) -> None:
        for file in ("blaze_face_short_range.tflite", "mobilenet_v1_1.0_224.tflite", "hand_landmark_lite.tflite"):
            with self.subTest(file):
                made = f"from_file({str(CACHE / file)!r}"
                answer, said = self.answer(made, GPU, TEXPOOL_LITERT_OPTIONS="verbose=1; whole_graph=1")
                self.assertIsNotNone(answer, said)
                self.assertIn("name=texpool", said)
                self.assertIn("accelerated: True", said)
                self.assertRegex(said, r"texpool: (\d+) of \1 nodes are taken, in 1 part")
                expected, said = self.answer(made, CPU)
                worst = np.abs(answer - expected).max() / np.abs(expected).max()
                print(f"CompiledModel, {file}: greatest difference {worst:.1e}")
                self.assertLessEqual(worst, 1e-4)

    def test_an_unsupported_node_is_run_by_the_cpu(self) -> None:
        made = "from_buffer(tiny.split()"
        answer, said = self.answer(made, f"{GPU} | {CPU}")
        expected, _ = self.answer(made, CPU)
        np.testing.assert_array_equal(answer, expected, said)
        self.assertIn("accelerated: False", said)

    def test_resized_inputs_and_a_hundred_models(self) -> None:
        done = python(LIVES.format(folder=str(self.folder)))
        self.assertEqual(done.returncode, 0, done.stderr)
        grown = int(done.stdout.split("grown:")[1])
        print(f"CompiledModel, 100 models: {grown} bytes more in the process")
        self.assertLessEqual(grown, 1 << 20)

    def test_options_that_mean_nothing(self) -> None:
        wrong = {"speed=high": "there is no option `speed`", "verbose": "`verbose` is not `name=value`"}
        for options, why in wrong.items():
            answer, said = self.answer("from_buffer(tiny.supported()", GPU, TEXPOOL_LITERT_OPTIONS=options)
            self.assertIsNone(answer)
            self.assertIn(why, said)

    def test_a_machine_without_an_adapter(self) -> None:
        made = "from_buffer(tiny.supported()"
        with tempfile.TemporaryDirectory() as folder:
            absent = f"{folder}/absent.json"
            none = {"VK_DRIVER_FILES": absent, "VK_ICD_FILENAMES": absent}
            answer, said = self.answer(made, f"{GPU} | {CPU}", **none)
        self.assertIn("texpool: no GPU adapter was found", said)
        expected, _ = self.answer(made, CPU)
        np.testing.assert_array_equal(answer, expected, said)


if __name__ == "__main__":
    unittest.main()
