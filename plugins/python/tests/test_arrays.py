"""What goes in and comes out: names, types, shapes, strides, and no more copies than must be."""

import array
import tracemalloc
import unittest
import warnings
from typing import Any

import numpy as np

import texpool
from support import MODELS, blazeface, onnx_chain, same_bits, values


class OnlyDLPack:
    """A tensor that has nothing but DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **asked: Any) -> Any:
        return self.values.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.session, cls.feed = blazeface()
        cls.image = cls.feed["input"]
        cls.expected = cls.session.run(None, cls.feed)

    def answers(self, image: Any) -> None:
        self.assertTrue(same_bits(self.session.run(None, {"input": image}), self.expected))

    def test_inputs_and_outputs_are_described(self) -> None:
        [image] = self.session.get_inputs()
        self.assertEqual((image.name, image.shape, image.type), ("input", [1, 128, 128, 3], "tensor(float)"))
        self.assertEqual((image.dtype, image.quantization), (np.dtype(np.float32), None))
        names = [(node.name, node.shape) for node in self.session.get_outputs()]
        self.assertEqual(names, [("regressors", [1, 896, 16]), ("classificators", [1, 896, 1])])
        path, dims = MODELS["minilm"]
        text = texpool.InferenceSession(path, dims=dims)
        self.assertEqual({node.type for node in text.get_inputs()}, {"tensor(int64)"})

    def test_what_a_run_cannot_compute_or_clamps_is_warned_of_once(self) -> None:
        model = onnx_chain([1, 4], ["Exp", "Exp"])
        for options, value, said in (
            ({"precision": "f16"}, 3, "4 values are beyond the range of the precision and were stored as"),
            ({}, np.nan, "output `t2` has values that are not finite: 4 NaN"),
        ):
            session = texpool.InferenceSession(model, **options)
            feed = {"t0": np.full((1, 4), value, np.float32)}
            with warnings.catch_warnings(record=True, action="always") as caught:
                for _ in range(3):
                    session.run(None, feed)
            [warning] = caught
            self.assertIs(warning.category, RuntimeWarning)
            self.assertIn(said, str(warning.message))
        with warnings.catch_warnings(action="error"):
            texpool.InferenceSession(model, precision="f16").run(None, {"t0": np.zeros((1, 4), np.float32)})

    def test_arguments_of_onnx_runtime_are_taken(self) -> None:
        model, feed = onnx_chain([1, 4], ["Relu"]), {"t0": np.array([[-1, 0, 1, 2]], np.float32)}
        session = texpool.InferenceSession(
            model, None, providers=["CPUExecutionProvider"], provider_options=[{}],
            disabled_optimizers=["ConstantFolding"], enable_fallback=0,
        )
        self.assertEqual(session.run(None, feed, run_options=None)[0].tolist(), [[0, 0, 1, 2]])
        self.assertEqual(session.get_providers(), ["TexpoolExecutionProvider"])
        metadata = session.clone().get_modelmeta()
        self.assertEqual((metadata.graph_name, metadata.version, metadata.custom_metadata_map), ("chain", 0, {}))

    def test_an_open_batch_is_taken_as_1_with_a_warning(self) -> None:
        model = onnx_chain(["batch", 4], ["Relu"])
        with self.assertWarnsRegex(UserWarning, "`batch` is open and taken as 1"):
            session = texpool.InferenceSession(model)
        self.assertEqual(session.get_inputs()[0].shape, [1, 4])
        with warnings.catch_warnings(action="error"):
            self.assertEqual(texpool.InferenceSession(model, dims={"batch": 3}).get_inputs()[0].shape, [3, 4])
            with self.assertRaisesRegex(texpool.ModelError, "length"):
                texpool.InferenceSession(onnx_chain(["batch", "length"], ["Relu"]))

    def test_an_open_batch_is_planned_for_when_it_comes(self) -> None:
        for budget in (None, "1MiB"):
            with self.subTest(budget=budget), warnings.catch_warnings(action="ignore"):
                session = texpool.InferenceSession(onnx_chain(["batch", 4], ["Relu"]), budget=budget)
                for other in (session, session.clone()):
                    # More batches than are kept, and each again.
                    for batch in [4, 1, 2, 3, 5, 6, 7, 4, 7, 1]:
                        x = np.random.default_rng(batch).uniform(-1, 1, (batch, 4)).astype(np.float32)
                        self.assertTrue(same_bits(other.run(None, {"t0": x}), [np.maximum(x, 0)]))
                    self.assertEqual(list(other._batches._others), [(5,), (6,), (4,), (7,)])
                held = [one.memory()["planned"]["total"] for one in session._batches._others.values()]
                # With a budget, the last one used was that for a batch of 1.
                self.assertEqual([total > 1000 for total in held], [budget is None] * 4)
                session.trim()
                self.assertLess(session.memory()["planned"]["total"], 1000)
                self.assertEqual(session.run(None, {"t0": np.ones((7, 4), np.float32)})[0].shape, (7, 4))
                for wrong in (np.zeros((4, 5), np.float32), np.zeros((0, 4), np.float32)):
                    with self.assertRaises(ValueError):
                        session.run(None, {"t0": wrong})
                session.close()
                for batch in (1, 4, 9):
                    with self.assertRaises(texpool.ClosedError):
                        session.run(None, {"t0": np.zeros((batch, 4), np.float32)})

    def test_a_bound_batch_and_a_plan_are_for_one(self) -> None:
        model = onnx_chain(["batch", 4], ["Relu"])
        with warnings.catch_warnings(action="ignore"):
            planned = texpool.InferenceSession(model, plan=texpool.InferenceSession(model).save_plan())
        for session in (planned, texpool.InferenceSession(model, dims={"batch": 1})):
            with self.assertRaisesRegex(ValueError, "found \\[4, 4\\]"):
                session.run(None, {"t0": np.zeros((4, 4), np.float32)})

    def test_arrays_are_read_in_any_strides(self) -> None:
        image = self.image
        wide = np.zeros((2, 128, 200, 4), np.float32)
        wide[1, :, 10:138, :3] = image[0]
        planes = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
        every_other = np.repeat(image, 2, axis=2)
        backwards = np.ascontiguousarray(image[:, ::-1])
        unaligned = np.frombuffer(b"x" + image.tobytes(), np.float32, offset=1).reshape(image.shape)
        read_only = image.copy()
        read_only.flags.writeable = False
        strided = {
            "a window": wide[1:, :, 10:138, :3],
            "planes": planes.transpose(0, 2, 3, 1),
            "columns first": np.asfortranarray(image),
            "every other pixel": every_other[:, :, ::2],
            "backwards": backwards[:, ::-1],
            "unaligned": unaligned,
            "read only": read_only,
            "without the first axis": image[0],
            "an array of Python's": memoryview(array.array("f", image.tobytes())).cast("B").cast("f", image.shape),
        }
        for what, values in strided.items():
            with self.subTest(what):
                self.answers(values)

    def test_repeated_values_are_read(self) -> None:
        pixel = np.broadcast_to(np.float32(0.25), self.image.shape)
        whole = np.full(self.image.shape, 0.25, np.float32)
        self.assertTrue(
            same_bits(self.session.run(None, {"input": pixel}), self.session.run(None, {"input": whole}))
        )

    def test_dlpack_is_read_where_it_lies(self) -> None:
        self.answers(OnlyDLPack(self.image))

    def test_outputs_are_chosen_by_name(self) -> None:
        scores, again = self.session.run(["classificators", "classificators"], self.feed)
        self.assertIs(scores, again)
        self.assertTrue(same_bits([scores], self.expected[1:]))
        self.assertEqual(self.session.run([], self.feed), [])

    def test_outputs_are_the_callers(self) -> None:
        first, _ = self.session.run(None, self.feed)
        first[:] = 0
        self.answers(self.image)
        self.assertEqual(float(abs(first).sum()), 0)
        outlives = texpool.InferenceSession(MODELS["blazeface"][0]).run(None, self.feed)
        self.assertTrue(same_bits(outlives, self.expected))

    def test_nothing_is_copied_on_the_way(self) -> None:
        """NumPy tells `tracemalloc` what it allocates: of strided inputs and of outputs there is no copy."""
        strided = np.asfortranarray(self.image)
        self.session.run(None, {"input": strided})
        tracemalloc.start()
        try:
            results = self.session.run(None, {"input": strided})
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertLess(peak, min(result.nbytes for result in results))
        self.assertFalse(results[0].flags.owndata)

    def test_integers_keep_their_types(self) -> None:
        path, dims = MODELS["minilm"]
        session = texpool.InferenceSession(path, dims=dims)
        feed = values(session)
        expected = session.run(None, feed)
        # Pass the values as floats, and as every other element of a longer array.
        floats = {name: array.astype(np.float32) for name, array in feed.items()}
        strided = {name: np.repeat(array, 2, axis=1)[:, ::2] for name, array in feed.items()}
        self.assertTrue(same_bits(session.run(None, floats), expected))
        self.assertTrue(same_bits(session.run(None, strided), expected))
        with self.assertRaisesRegex(texpool.TensorTypeError, "int64, or their values as float32, found int32"):
            session.run(None, {name: array.astype(np.int32) for name, array in feed.items()})

    def test_what_does_not_fit_is_refused(self) -> None:
        run, image = self.session.run, self.image

        def given(values: Any) -> Any:
            return lambda: run(None, {"input": values})

        refused: list[tuple[type[texpool.Error], type[Exception], str, Any]] = [
            (texpool.TensorValueError, ValueError, "no values: input", lambda: run(None, {})),
            (texpool.NoSuchTensorError, KeyError, "no input `x`.*input", lambda: run(None, {"x": image})),
            (texpool.NoSuchTensorError, KeyError, "no output `x`.*regressors", lambda: run(["x"], {"input": image})),
            (texpool.TensorValueError, ValueError, r"\[1, 128, 128, 3\].*\[128, 3\]", given(image[0, 0])),
            (texpool.TensorValueError, ValueError, "9 axes", given(image.reshape((1,) * 5 + image.shape))),
            (texpool.TensorTypeError, TypeError, "float32, found float64", given(image.astype("f8"))),
            (texpool.TensorTypeError, TypeError, "found >f4", given(image.astype(">f4"))),
            (texpool.TensorTypeError, TypeError, "found a list", given(image.tolist())),
            (texpool.TensorTypeError, TypeError, "found complex64", given(image.astype("c8"))),
            (texpool.TensorTypeError, TypeError, "found object", given(image.astype(object))),
        ]
        for kind, builtin, text, call in refused:
            with self.subTest(text), self.assertRaisesRegex(kind, text) as caught:
                call()
            self.assertIsInstance(caught.exception, builtin)
        with self.assertRaisesRegex(TypeError, "strings"):
            run(None, {0: image})
        self.answers(image)


if __name__ == "__main__":
    unittest.main()
