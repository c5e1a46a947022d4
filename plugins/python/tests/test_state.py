"""State that a session carries from an output to an input of its next run."""

import pickle
import unittest
import warnings

import numpy as np
from support import onnx_chain

import texpool

VALUES = np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 4)


class State(unittest.TestCase):
    def test_an_output_is_the_input_of_the_next_run(self) -> None:
        for stream in ["none", "io"]:
            with self.subTest(stream=stream):
                plain = texpool.InferenceSession(onnx_chain([1, 4], ["Exp", "Sin"]), stream=stream)
                session = plain.clone()
                session.carry({"t2": "t0"})
                expected = VALUES
                for feed in [{"t0": VALUES}, {}, {}]:
                    [expected] = plain.run(None, {"t0": expected})
                    # A state is returned only if it is named.
                    self.assertEqual(session.run(["t2", "t2"], feed)[1].tobytes(), expected.tobytes())
                self.assertEqual(session.run(None, {}), [])
                session.reset()
                [of_zeros] = plain.run(None, {"t0": np.zeros_like(VALUES)})
                self.assertEqual(session.run(["t2"], {})[0].tobytes(), of_zeros.tobytes())
                session.trim()
                [next_one] = plain.run(None, {"t0": of_zeros})
                self.assertEqual(session.run(["t2"], {})[0].tobytes(), next_one.tobytes())

    def test_clones_and_copies_have_states_of_their_own(self) -> None:
        session = texpool.InferenceSession(onnx_chain([1, 4], ["Cos"]))
        session.carry([("t1", "t0")])
        session.run(["t1"], {"t0": VALUES})
        for copy in [session.clone(), pickle.loads(pickle.dumps(session))]:
            self.assertEqual(copy.run(["t1"], {})[0].tolist(), [[1.0] * 4])

    def test_each_batch_has_a_state(self) -> None:
        with warnings.catch_warnings(action="ignore"):
            session = texpool.InferenceSession(onnx_chain(["batch", 4], ["Cos"]))
        session.carry({"t1": "t0"})
        for batch in [1, 3, 1]:
            session.run(["t1"], {"t0": np.zeros((batch, 4), np.float32)})
        self.assertEqual(session.run(["t1"], {})[0].shape, (1, 4))
        session.reset()

    def test_pairs_are_checked(self) -> None:
        session = texpool.InferenceSession(onnx_chain([1, 4], ["Relu"]))
        with self.assertRaisesRegex(texpool.NoSuchTensorError, "no output `t7`"):
            session.carry({"t7": "t0"})
        with self.assertRaisesRegex(texpool.NoSuchTensorError, "no input `t1`"):
            session.carry({"t1": "t1"})
        session.carry({"t1": "t0"})
        with self.assertRaisesRegex(texpool.TensorValueError, "already carries output `t1`"):
            session.carry({"t1": "t0"})


if __name__ == "__main__":
    unittest.main()
