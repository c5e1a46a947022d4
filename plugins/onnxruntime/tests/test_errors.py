"""What goes wrong is an error of the runtime's, and the process goes on."""

import ctypes
import tempfile
import unittest

import numpy as np
import onnxruntime
import onnxruntime_ep_texpool
from onnx import helper

from support import NAME, devices, file, off, on_cpu, python, register, session, small, tensor, values, weights

#: A model that needs 256 MiB of textures, first while the process may only allocate half of that, which leaves the
#: nodes to the runtime, then without the limit.
NO_MEMORY = """
import resource, support
from onnx import helper
from pathlib import Path
nodes = [
    helper.make_node("Resize", ["x", "", "by"], ["a"], name="resize", mode="nearest"),
    helper.make_node("Softmax", ["a"], ["b"], name="softmax", axis=1),
    helper.make_node("GlobalAveragePool", ["b"], ["y"], name="mean"),
]
by = support.constant("by", support.np.array([1, 1, 1024, 1024], support.np.float32))
model = support.file(nodes, [support.tensor("x", [1, 4, 4, 4])], [support.tensor("y", [1, 4, 1, 1])], [by])
x = support.np.random.default_rng(7).uniform(-1, 1, [1, 4, 4, 4]).astype(support.np.float32)
parts = support.np.exp(x) / support.np.exp(x).sum(1, keepdims=True)
small = support.session(support.small())
small.run(None, support.values(small))
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (taken + (128 << 20), hard))
starved, report = support.reported(model)
print(*report, sep="\\n")
small.run(None, support.values(small))
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
found = support.session(model).run(None, {"x": x})[0]
# Sums of 16 million floats; those of the runtime's own are off by more than 0.004.
assert abs(found - parts.mean((2, 3), keepdims=True)).max() < 5e-5, found
found = starved.run(None, {"x": x})[0]
assert abs(found - parts.mean((2, 3), keepdims=True)).max() < 0.1, found
print("well")
"""


class Errors(unittest.TestCase):
    def alive(self) -> None:
        """The runtime still works, with the provider and without."""
        feed = values(on_cpu(small()))
        self.assertLessEqual(off(session(small()).run(None, feed), on_cpu(small()).run(None, feed)), 1)

    def test_options_that_mean_nothing(self) -> None:
        for options, said in [
            ({"speed": "high"}, "there is no option `speed`; there are: adapter, .*, report, verbose"),
            ({"budget": "much"}, "option `budget`: `much` is no size"),
            ({"verbose": "perhaps"}, "option `verbose`: `perhaps` is neither `on` nor `off`"),
            ({"budget": "1MiB", "objective": "smallest"}, "options `budget` and `objective` do not go together"),
            ({"adapter": "no such adapter"}, "no such adapter"),
        ]:
            with self.subTest(options), self.assertRaisesRegex(Exception, f"texpool: .*{said}"):
                session(small(), **options)
        self.alive()

    def test_a_budget_that_nothing_keeps(self) -> None:
        with self.assertRaisesRegex(Exception, "texpool: 3 nodes from `conv` to `mean`, with `x` of .*: .*every plan of this model takes at least"):
            session(small(), budget="1KiB")
        self.alive()

    def test_a_report_that_cannot_be_written_is_no_reason_to_fail(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = session(small(), report=f"{folder}/absent/report.txt")
        self.assertEqual(made.run(None, values(made))[0].shape, (1, 8, 1, 1))

    def test_shapes_that_do_not_fit_are_an_error_of_that_run(self) -> None:
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
            helper.make_node("Add", ["a", "b"], ["y"], name="add"),
        ]
        inputs = [tensor("x", [1, 3, "n", "n"]), tensor("b", [1, 4, "m", "m"])]
        model = file(nodes, inputs, [tensor("y", [1, 4, "k", "k"])], [weights("w", 4, 3, 1, 1)])
        made, cpu = session(model), on_cpu(model)
        fits = values(cpu, {"x": [1, 3, 8, 8], "b": [1, 4, 8, 8]})
        with self.assertRaisesRegex(Exception, "texpool: 2 nodes from `conv` to `add`, with `x` of .1, 3, 8, 8., `b` of .1, 4, 5, 5.: "):
            made.run(None, values(cpu, {"x": [1, 3, 8, 8], "b": [1, 4, 5, 5]}))
        self.assertLessEqual(off(made.run(None, fits), cpu.run(None, fits)), 1)

    def test_a_weight_that_is_given_another_value(self) -> None:
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
        inputs = [tensor("x", [1, 3, 4, 4]), tensor("w", [2, 3, 1, 1])]
        model = file([node], inputs, [tensor("y", [1, 2, 4, 4])], [weights("w", 2, 3, 1, 1)])
        made, cpu = session(model), on_cpu(model)
        feed = {"x": values(cpu)["x"]}
        self.assertLessEqual(off(made.run(None, feed), cpu.run(None, feed)), 1)
        with self.assertRaisesRegex(Exception, "texpool: input `w` is given another value than the file gives it"):
            made.run(None, {**feed, "w": np.ones((2, 3, 1, 1), np.float32)})
        self.assertLessEqual(off(made.run(None, feed), cpu.run(None, feed)), 1)

    def test_what_the_provider_cannot_do_the_runtime_does(self) -> None:
        code = f"""
import support, test_parts
support.register()
model = test_parts.open_extents()
cpu = support.on_cpu(model)
providers = [("{NAME}", {{"budget": "700KiB"}}), "CPUExecutionProvider"]
made = support.onnxruntime.InferenceSession(model, providers=providers)
for extent in (8, 1200):
    feed = support.values(cpu, {{"x": [1, 3, extent, extent]}})
    assert support.off(made.run(None, feed), cpu.run(None, feed)) <= 1
    print(made.get_providers())
"""
        said = python(code)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(f"['{NAME}', 'CPUExecutionProvider']", said.stdout)
        self.assertRegex(said.stdout, "EP Error: .*texpool: 6 nodes .*no plan keeps all of the device's memory within 716800")
        self.assertEqual(said.stdout.splitlines()[-1], "['CPUExecutionProvider']")

    def test_without_an_adapter_nothing_is_offered(self) -> None:
        code = """
import support
support.register()
assert not support.devices(), support.devices()
cpu = support.on_cpu(support.small())
asked = [support.NAME, "CPUExecutionProvider"]
print(support.onnxruntime.InferenceSession(support.small(), providers=asked).get_providers())
print(cpu.run(None, support.values(cpu))[0].shape, [d.ep_name for d in support.onnxruntime.get_ep_devices()])
"""
        with tempfile.TemporaryDirectory() as folder:
            absent = f"{folder}/absent.json"
            said = python(code, VK_DRIVER_FILES=absent, VK_ICD_FILENAMES=absent)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("(1, 8, 1, 1) ['CPUExecutionProvider']", said.stdout)
        self.assertIn("\n['CPUExecutionProvider']\n", said.stdout)

    def test_a_lost_device(self) -> None:
        made, feed = session(small()), values(on_cpu(small()))
        expected = made.run(None, feed)
        ctypes.CDLL(onnxruntime_ep_texpool.get_library_path()).texpool_onnxruntime_lose_devices()
        for _ in range(2):
            with self.assertRaisesRegex(Exception, "texpool: .*lost"):
                made.run(None, feed)
        # New sessions use a new device.
        self.assertEqual(off(session(small()).run(None, feed), expected), 0)
        self.alive()

    def test_no_memory(self) -> None:
        said = python(NO_MEMORY)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("none of its 3 nodes is taken", said.stdout)
        self.assertRegex(said.stdout, "left: node `mean` .*out of memory.*takes [0-9]+ bytes")
        self.assertRegex(said.stderr, "left to other providers, since it cannot be compiled: .*out of memory")
        self.assertTrue(said.stdout.endswith("well\n"), said.stdout)

    def test_one_device_a_session(self) -> None:
        register()
        asked = onnxruntime.SessionOptions()
        asked.add_provider_for_devices([*devices(), *devices()], {})
        with self.assertRaisesRegex(Exception, "texpool: a session runs on one device; 2 were given"):
            onnxruntime.InferenceSession(small(), sess_options=asked, enable_fallback=0)
        self.alive()

    def test_compiled_models_are_not_written(self) -> None:
        register()
        asked = onnxruntime.SessionOptions()
        asked.add_provider_for_devices(devices()[:1], {})
        asked.add_session_config_entry("ep.context_enable", "1")
        with self.assertRaisesRegex(Exception, "texpool: .*leave `ep.context_enable` out"):
            onnxruntime.InferenceSession(small(), sess_options=asked, enable_fallback=0)
        self.alive()

    def test_the_library_comes_and_goes(self) -> None:
        code = f"""
import gc, support, onnxruntime
for _ in range(3):
    support.register()
    made = support.session(support.small())
    assert made.get_providers()[0] == "{NAME}"
    made.run(None, support.values(made))
    del made
    gc.collect()
    onnxruntime.unregister_execution_provider_library("texpool")
    assert not support.devices()
print("well")
"""
        said = python(code)
        self.assertEqual((said.returncode, said.stdout), (0, "well\n"), said.stderr)

    def test_a_session_may_outlive_the_registration(self) -> None:
        code = """
import support, onnxruntime
support.register()
made = support.session(support.small())
onnxruntime.unregister_execution_provider_library("texpool")
made.run(None, support.values(made))
del made
print("well")
"""
        said = python(code)
        self.assertEqual((said.returncode, said.stdout), (0, "well\n"), said.stderr)


if __name__ == "__main__":
    unittest.main()
