"""The answers are those of the command, to the bit."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import texpool
from support import MODELS, same_bits, values

#: The command to compare results with.
COMMAND = os.environ["TEXPOOL_COMMAND"]


def by_the_command(name: str, feed: dict[str, np.ndarray], *flags: str) -> list[np.ndarray]:
    """What `texpool run` answers."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = []
        for index, array in enumerate(feed.values()):
            np.save(f"{folder}/{index}.npy", array)
            inputs += ["--input", f"{folder}/{index}.npy"]
        command = [COMMAND, "run", name, *inputs, *flags, "--output", f"{folder}/out", "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [np.load(Path(output["file"])) for output in json.loads(done.stdout)["outputs"]]


class Command(unittest.TestCase):
    def test_each_model_answers_as_the_command_does(self) -> None:
        for name, (path, dims) in MODELS.items():
            with self.subTest(name), texpool.InferenceSession(path, dims=dims) as session:
                feed = values(session)
                expected = by_the_command(name, feed)
                # The command writes 16-bit floats with 32 bits.
                found = [own.astype(theirs.dtype) for own, theirs in zip(session.run(None, feed), expected)]
                self.assertTrue(same_bits(found, expected))

    def test_bytes_a_saved_plan_and_a_budget_give_the_same_bits(self) -> None:
        path, _ = MODELS["blazeface"]
        whole = texpool.InferenceSession(path)
        feed = values(whole)
        expected = by_the_command("blazeface", feed)
        least = texpool.InferenceSession(path, objective="smallest", stream="none")
        self.assertLess(least.pool_bytes, whole.pool_bytes // 4)
        budget = texpool.InferenceSession(path, budget=3 << 19)
        self.assertLessEqual(budget.memory()["planned"]["total"], 3 << 19)
        with tempfile.TemporaryDirectory() as folder:
            least.save_plan(f"{folder}/least.plan")
            saved = texpool.InferenceSession(path, plan=f"{folder}/least.plan")
            self.assertEqual(saved.pool_bytes, least.pool_bytes)
            command = subprocess.run(
                [COMMAND, "compile", "blazeface", "--objective", "balanced", "-o", f"{folder}/auto.plan"], capture_output=True
            )
            self.assertEqual(command.returncode, 0, command.stderr)
            of_the_command = texpool.InferenceSession(path, plan=Path(folder, "auto.plan").read_bytes())
        of_bytes = texpool.InferenceSession(path.read_bytes())
        for session in [whole, least, budget, saved, of_the_command, of_bytes]:
            with self.subTest(repr(session)):
                self.assertTrue(same_bits(session.run(None, feed), expected))

    def test_half_precision_is_the_commands(self) -> None:
        path, _ = MODELS["blazeface"]
        session = texpool.InferenceSession(path, precision="f16")
        self.assertEqual(session.precision, "f16")
        feed = values(session)
        expected = by_the_command("blazeface", feed, "--precision", "f16")
        self.assertTrue(same_bits(session.run(None, feed), expected))

    def test_weights_in_fewer_bits_are_the_commands(self) -> None:
        path, _ = MODELS["blazeface"]
        whole = texpool.InferenceSession(path)
        feed = values(whole)
        for weights in ["f16", "file", "int8"]:
            session = texpool.InferenceSession(path, weights=weights)
            expected = by_the_command("blazeface", feed, "--weights", weights)
            with self.subTest(weights):
                self.assertTrue(same_bits(session.run(None, feed), expected))
                self.assertLess(session.memory()["planned"]["weights"], whole.memory()["planned"]["weights"])


if __name__ == "__main__":
    unittest.main()
