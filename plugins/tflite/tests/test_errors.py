"""What can go wrong, and what the runtime is told; it lives on."""

import ctypes
import tempfile
import unittest
from pathlib import Path

import tiny
from support import CACHE, LIBRARY, delegate, interpreter, python, run, same_bits

MOBILENET = CACHE / "mobilenet_v1_1.0_224.tflite"

#: Delegates a model that needs 256 MiB of textures, first while the process may only allocate half of that, which leaves
#: the nodes to the runtime, then without the limit.
NO_MEMORY = """
import resource, tiny
from pathlib import Path
from support import *
small = interpreter(tiny.split(), delegate())
expected = run(small)
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (taken + (128 << 20), hard))
report = Report()
try:
    starved = runtime.Interpreter(model_content=tiny.large(), experimental_delegates=[delegate(report=report.path)])
except MemoryError:
    # The older runtime allocates its own tensors at once.
    starved = None
print(report.graph["nodes"][0]["left"])
assert same_bits(run(small), expected)
try:
    interpreter(tiny.large(), delegate(whole_graph=1))
except (RuntimeError, MemoryError) as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
if starved:
    starved.allocate_tensors()
made = interpreter(tiny.large(), delegate(report=report.path))
assert report.left == [], report.left
x = values(made)[0]
assert abs(run(made)[0].ravel() - x.mean((0, 1, 2))).max() < 1e-5
# The runtime's own sums of 16 million floats are less precise.
assert not starved or abs(run(starved)[0].ravel() - x.mean((0, 1, 2))).max() < 0.1
print("well")
"""


class Errors(unittest.TestCase):
    def tearDown(self) -> None:
        # The runtime still works, and so does a new delegate.
        self.assertTrue(same_bits(run(interpreter(tiny.split(), delegate())), run(interpreter(tiny.split()))))

    def test_options_that_mean_nothing(self) -> None:
        for options, said in (
            ({"speed": "high"}, "texpool: there is no option `speed`; there are: adapter"),
            ({"budget": "much"}, "texpool: option `budget`: `much` is no size"),
            ({"whole_graph": "maybe"}, "option `whole_graph`: `maybe` is neither 0 nor 1"),
            ({"budget": "4MiB", "objective": "smallest"}, "options `budget` and `objective` do not go together"),
            ({"device": "llvmpipe", "adapter": "llvmpipe"}, "option `adapter` is given twice"),
            ({"dim": "batch=1"}, "option `dim` is for .onnx files"),
            ({"report": ""}, "option `report`: it must name a file"),
            ({"device": "no such adapter"}, "no such adapter"),
        ):
            with self.subTest(options), self.assertRaisesRegex(ValueError, said):
                delegate(**options)

    def test_a_budget_that_no_plan_keeps(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "texpool: .*10240 bytes"):
            interpreter(MOBILENET, delegate(budget="10KiB"))

    def test_a_report_that_cannot_be_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report = f"{folder}/absent/report"
            with self.assertRaisesRegex(RuntimeError, f"option `report`: cannot write {report}"):
                interpreter(tiny.split(), delegate(report=report))

    def test_a_machine_without_an_adapter(self) -> None:
        code = (
            "import tiny\n"
            "from support import *\n"
            "try:\n"
            "    delegate()\n"
            "except ValueError as error:\n"
            "    print(error)\n"
            "print(len(run(interpreter(tiny.split()))))\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            absent = f"{folder}/absent.json"
            done = python(code, VK_DRIVER_FILES=absent, VK_ICD_FILENAMES=absent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("texpool: no GPU adapter was found", done.stdout)
        self.assertTrue(done.stdout.endswith("1\n"), done.stdout)

    def test_a_lost_device(self) -> None:
        kept, other = delegate(), delegate()
        made, expected = interpreter(tiny.supported(), kept), run(interpreter(tiny.supported()))
        ctypes.CDLL(LIBRARY).texpool_tflite_lose_devices()
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "texpool: .*lost"):
                run(made)
        # New interpreters use a new device, whether with the same delegate, another existing one, or a new one.
        for one in (kept, other, delegate()):
            self.assertTrue(same_bits(run(interpreter(tiny.supported(), one)), expected))

    def test_no_memory(self) -> None:
        done = python(NO_MEMORY)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "^the device is out of memory.*takes [0-9]+ bytes")
        # The older runtime then prepares to run the model itself, and is out of memory, too.
        self.assertRegex(done.stdout, "texpool: .*whole_graph.*|std::bad_alloc")
        self.assertIn("out of memory", done.stderr)
        self.assertTrue(done.stdout.endswith("well\n"), done.stdout)

    def test_an_extent_that_is_not_supported(self) -> None:
        made = interpreter(tiny.supported(signature=(-1, 4, 4, 3)), delegate())
        expected = run(made)
        with self.assertRaises(RuntimeError):
            made.resize_tensor_input(0, [0, 4, 4, 3])
            made.allocate_tensors()
            run(made)
        made.resize_tensor_input(0, [1, 4, 4, 3])
        made.allocate_tensors()
        self.assertTrue(same_bits(run(made), expected))


class Cache(unittest.TestCase):
    def test_a_plan_is_kept_and_taken_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            options = {"cache_dir": folder, "objective": "smallest"}
            first = run(interpreter(tiny.split(), delegate(**options)))
            plans = sorted(Path(folder, "plans").iterdir())
            self.assertEqual([plan.suffix for plan in plans], [".plan"] * 2)
            again = run(interpreter(tiny.split(), delegate(**options)))
            self.assertTrue(same_bits(first, again))
            # A damaged file is replaced.
            plans[0].write_bytes(b"none")
            self.assertTrue(same_bits(run(interpreter(tiny.split(), delegate(**options))), first))
            self.assertGreater(plans[0].stat().st_size, 4)


if __name__ == "__main__":
    unittest.main()
