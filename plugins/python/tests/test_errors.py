"""What goes wrong is an error of its own, and the process goes on."""

import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

import texpool
from support import BLAZEFACE, HERE, MODELS, SLOW, blazeface, python, same_bits, values


class Errors(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def tearDown(self) -> None:
        session, feed = blazeface()
        self.assertEqual(len(session.run(None, feed)), 2)

    def test_options_are_checked(self) -> None:
        refused: list[tuple[type[Exception], str, dict[str, Any]]] = [
            (TypeError, r"bytes, not 2\.5", {"budget": 2.5}),
            (ValueError, "option `budget`: `2 parsec` is no size", {"budget": "2 parsec"}),
            (ValueError, "budget must be at least 1", {"budget": 0}),
            (ValueError, "budget must be at least 1", {"budget": 1 << 64}),
            (ValueError, "option `objective`: `all` is none of `fastest`, `balanced`, `smallest`", {"objective": "all"}),
            (ValueError, "option `stream`: `outputs` is none of", {"stream": "outputs"}),
            (ValueError, "`budget` and `stream` do not go together", {"budget": 1 << 20, "stream": "all"}),
            (ValueError, "leave precision out", {"plan": b"", "precision": "f16"}),
            (ValueError, "option `precision`: `int8` is none of", {"precision": "int8"}),
            (ValueError, "option `weights`: `int4` is none of", {"weights": "int4"}),
            (ValueError, "no rule.*called.*nonsense|nonsense", {"rules": ["nonsense"]}),
            (TypeError, "device must be", {"device": 0}),
            (TypeError, "deadline must be a number of seconds", {"deadline": "1"}),
            (ValueError, "not negative", {"timeout": -1}),
            (TypeError, "progress must be callable", {"progress": 7}),
            (TypeError, "unexpected keyword", {"provider": []}),
            (texpool.SavedPlanError, "", {"plan": b"no plan"}),
            (FileNotFoundError, "nowhere.plan", {"plan": Path(self.folder, "nowhere.plan")}),
            (texpool.NoAdapterError, "none is named like \"nonsense\"", {"device": "nonsense"}),
            (texpool.ModelError, "no extent of the model is called N", {"dims": {"N": 3}}),
        ]
        for kind, text, options in refused:
            with self.subTest(options), self.assertRaisesRegex(kind, text):
                texpool.InferenceSession(MODELS["mobilenet_v2"][0] if "dims" in options else BLAZEFACE, **options)

    def test_a_budget_that_is_too_small_says_what_is_possible(self) -> None:
        with self.assertRaisesRegex(texpool.BudgetError, r"within 1000 bytes: every plan.* takes at least \d+") as caught:
            texpool.InferenceSession(BLAZEFACE, budget=1000)
        self.assertIsInstance(caught.exception, ValueError)

    def test_arguments_of_a_run_are_checked(self) -> None:
        session, feed = blazeface()
        refused: list[tuple[type[Exception], str, Any, Any]] = [
            (TypeError, "output_names must be a list of names or None, not the string 'scores'", "scores", feed),
            (TypeError, "input_feed must map names to arrays, .*, not list", None, list(feed.values())),
            (TypeError, "input_feed must map names to arrays, .*, not ndarray", None, feed["input"]),
            (KeyError, "no input `image`; its input is `input`", None, {"image": feed["input"]}),
            (KeyError, "no output `scores`; its outputs are `regressors`, `classificators`", ["scores"], feed),
        ]
        for kind, text, names, given in refused:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                session.run(names, given)

    def test_files_that_are_none(self) -> None:
        with self.assertRaises(FileNotFoundError) as caught:
            texpool.InferenceSession(f"{self.folder}/nowhere.onnx")
        self.assertTrue(caught.exception.filename.endswith("/nowhere.onnx"))
        with self.assertRaises(texpool.ModelError):
            texpool.InferenceSession(b"")
        with self.assertRaises(texpool.ModelError):
            texpool.InferenceSession(HERE / "support.py")
        with self.assertRaises(texpool.ModelError):
            texpool.InferenceSession(BLAZEFACE.read_bytes()[:50_000])
        with self.assertRaisesRegex(texpool.ModelError, r"batch_size.*\n.*sequence_length.*\n  bind them by dims=\{"):
            texpool.InferenceSession(MODELS["minilm"][0])

    def test_no_adapter(self) -> None:
        code = (
            "import texpool, support\n"
            "assert texpool.list_adapters() == []\n"
            "for _ in range(2):\n"
            "    try: texpool.InferenceSession(support.BLAZEFACE)\n"
            "    except texpool.NoAdapterError as error: print(type(error).__mro__[1].__name__, error)\n"
            "assert texpool.plan([(0, 1, 8), (1, 2, 4)]).total == 12"
        )
        with tempfile.TemporaryDirectory() as folder:
            absent = f"{folder}/absent.json"
            done = python(code, VK_DRIVER_FILES=absent, VK_ICD_FILENAMES=absent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("DeviceError no GPU adapter was found"), 2, done.stdout)

    def test_a_device_without_memory(self) -> None:
        # A software device uses the process's memory, so a pool of 512 MiB does not fit into a limit of 256 MiB.
        code = (
            "import resource, texpool, support\n"
            "session, feed = support.blazeface()\n"
            "session.run(None, feed)\n"
            "large = support.onnx_chain([1, 4, 4096, 4096], ['Sin', 'Log', 'Sin'])\n"
            "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
            "_, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
            "resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), hard))\n"
            "try: texpool.InferenceSession(large)\n"
            "except MemoryError as error: print(type(error).__name__, error)\n"
            "resource.setrlimit(resource.RLIMIT_AS, (hard, hard))\n"
            "session.run(None, feed)\n"
            "print(texpool.InferenceSession(large).pool_bytes)\n"
        )
        done = python(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "OutOfDeviceMemoryError the device is out of memory while .*\n536870912\n")

    def test_a_timeout(self) -> None:
        session = texpool.InferenceSession(SLOW, timeout=0)
        feed = values(session)
        with self.assertRaisesRegex(texpool.DeviceTimeoutError, "has not finished a run of the model") as caught:
            for _ in range(50):
                session.run(None, feed)
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_a_panic_is_an_error(self) -> None:
        with self.assertRaisesRegex(texpool.InternalError, "a defect of texpool: asked for by a test"):
            texpool._texpool._panic_for_tests()  # type: ignore[attr-defined]

    def test_errors_travel_between_processes(self) -> None:
        try:
            texpool.InferenceSession(BLAZEFACE, budget=1)
        except texpool.BudgetError as error:
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (texpool.BudgetError, str(error)))

    def test_a_closed_session(self) -> None:
        with texpool.InferenceSession(BLAZEFACE) as session:
            _, feed = blazeface()
            session.run(None, feed)
        session.close()
        for call in [lambda: session.run(None, feed), session.memory, session.trim]:
            with self.assertRaisesRegex(texpool.ClosedError, "the session is closed"):
                call()

    def test_a_trimmed_session_takes_its_memory_again(self) -> None:
        session, feed = blazeface()
        expected = session.run(None, feed)
        session.trim()
        self.assertLess(session.memory()["planned"]["total"], 1000)
        self.assertTrue(same_bits(session.run(None, feed), expected))

    def test_a_fork_is_told_that_it_has_no_device(self) -> None:
        code = (
            "import os, support, texpool\n"
            "session, feed = support.blazeface()\n"
            "if os.fork() == 0:\n"
            "    try: session.run(None, feed)\n"
            "    except RuntimeError as error: print(error, flush=True)\n"
            "    del session\n"
            "    os._exit(0)\n"
            "_, status = os.wait()\n"
            "assert status == 0\n"
            "session.run(None, feed)\n"
        )
        done = python(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("before this process was forked", done.stdout)

    def test_a_fork_makes_sessions_of_its_own(self) -> None:
        code = (
            "import os, support, sys, texpool\n"
            "session, feed = support.blazeface()\n"
            "expected = session.run(None, feed)\n"
            "if os.fork() == 0:\n"
            "    own, _ = support.blazeface()\n"
            "    assert support.same_bits(own.run(None, feed), expected)\n"
            "    sys.exit(0)\n"
            "_, status = os.wait()\n"
            "assert status == 0, status\n"
            "assert support.same_bits(session.run(None, feed), expected)\n"
        )
        done = python(code)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_kept_in_a_folder_is_used(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            first = texpool.InferenceSession(BLAZEFACE, stream="weights", cache_dir=folder)
            [kept] = Path(folder, "plans").iterdir()
            self.assertEqual(len(list(Path(folder, "weights").iterdir())), 1)
            written = kept.stat().st_mtime_ns
            second = texpool.InferenceSession(BLAZEFACE, stream="weights", cache_dir=folder)
            self.assertEqual((second.pool_bytes, kept.stat().st_mtime_ns), (first.pool_bytes, written))
            kept.write_bytes(b"damaged")
            third = texpool.InferenceSession(BLAZEFACE, stream="weights", cache_dir=folder)
            self.assertEqual(third.pool_bytes, first.pool_bytes)


if __name__ == "__main__":
    unittest.main()
