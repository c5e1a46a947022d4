"""The package as it is installed: pickling, examples, the front, adapters, and that no Rust is needed."""

import concurrent.futures
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import texpool
from support import BLAZEFACE, CACHE, HERE, MODELS, blazeface, same_bits, values

EXAMPLES = HERE.parent / "examples"


def first_bytes(session: texpool.InferenceSession) -> bytes:
    """What a session answers, in another process."""
    return session.run(None, values(session))[0].tobytes()


def example(name: str, *arguments: object) -> str:
    """What an example prints, in an empty folder, without anything on PATH."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, EXAMPLES / name, *map(str, arguments)],
            cwd=folder,
            env={"PATH": "", "HOME": folder, "XDG_RUNTIME_DIR": folder},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class Package(unittest.TestCase):
    def test_it_is_the_installed_one(self) -> None:
        folder = Path(texpool.__file__).parent
        self.assertTrue(folder.is_relative_to(sys.prefix), folder)
        self.assertTrue((folder / "py.typed").exists())
        self.assertEqual(sorted(texpool.__all__), sorted(name for name in texpool.__all__ if hasattr(texpool, name)))

    def test_adapters_are_listed(self) -> None:
        adapters = texpool.list_adapters()
        self.assertTrue(adapters)
        session = texpool.InferenceSession(BLAZEFACE, device=adapters[0].name[:8].upper())
        self.assertEqual(session.device, adapters[0].name)

    def test_sessions_are_pickled_by_path_and_options(self) -> None:
        session = texpool.InferenceSession(BLAZEFACE, precision="f16", timeout=60)
        pickled = pickle.dumps(session)
        self.assertLess(len(pickled), 1000 + len(session.save_plan()))
        again = pickle.loads(pickled)
        self.assertEqual((again.precision, again.pool_bytes), ("f16", session.pool_bytes))
        path, dims = MODELS["minilm"]
        text = pickle.loads(pickle.dumps(texpool.InferenceSession(path, dims=dims)))
        self.assertEqual(text.get_inputs()[0].shape, [1, 128])
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            shutil.copy(BLAZEFACE, "model.tflite")
            relative = pickle.dumps(texpool.InferenceSession("model.tflite"))
            os.chdir("/")
            pickle.loads(relative)

    def test_a_pickled_session_carries_its_plan(self) -> None:
        session = texpool.InferenceSession(BLAZEFACE)
        self.assertEqual(pickle.loads(pickle.dumps(session)).save_plan(), session.save_plan())
        # A plan that a search with these options would not find.
        marked = texpool.InferenceSession(BLAZEFACE, stream="none").save_plan()
        self.assertNotEqual(marked, session.save_plan())
        restored, arguments = session.__reduce__()
        self.assertEqual(arguments[-1], session.save_plan())
        self.assertEqual(restored(*arguments[:-1], marked).save_plan(), marked)
        # An invalid plan is replaced by a new search.
        self.assertEqual(restored(*arguments[:-1], b"damaged").save_plan(), session.save_plan())

    def test_sessions_of_bytes_and_plans_are_pickled(self) -> None:
        plan = texpool.pareto_front(BLAZEFACE)[-1].plan
        session = pickle.loads(pickle.dumps(texpool.InferenceSession(BLAZEFACE.read_bytes(), plan=plan)))
        whole, feed = blazeface()
        self.assertLess(session.pool_bytes, whole.pool_bytes)
        self.assertTrue(same_bits(session.run(None, feed), whole.run(None, feed)))

    def test_sessions_go_to_other_processes(self) -> None:
        session, feed = blazeface()
        spawn = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
            answers = list(pool.map(first_bytes, [session] * 4))
        self.assertEqual(set(answers), {session.run(None, feed)[0].tobytes()})

    def test_the_front_and_its_plans(self) -> None:
        front = texpool.pareto_front(BLAZEFACE)
        sizes = [point.device_bytes for point in front]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertGreater(len(front), 5)
        numbers = r"device_bytes=\d+, pool_bytes=\d+, seconds=[\d.e-]+"
        self.assertRegex(repr(front[0]), rf"^FrontPoint\({numbers}, plan=<\d+ bytes>\)$")
        session, feed = blazeface()
        smallest = texpool.InferenceSession(BLAZEFACE, plan=front[-1].plan)
        self.assertEqual(smallest.pool_bytes, front[-1].pool_bytes)
        self.assertLessEqual(smallest.memory()["planned"]["total"], sizes[-1])
        self.assertTrue(same_bits(smallest.run(None, feed), session.run(None, feed)))

    def test_the_map_keeps_the_pools_rule(self) -> None:
        for options in [{}, {"objective": "balanced"}]:
            session = texpool.InferenceSession(BLAZEFACE, **options)
            pool = session.memory_map()
            self.assertEqual(sum(pool.textures), session.pool_bytes)
            for step in range(pool.steps):
                for texture, size in enumerate(pool.textures):
                    held = np.zeros(size // 16, np.uint8)
                    for block in pool.blocks:
                        if block.texture == texture and block.first_step <= step <= block.last_step:
                            held[block.offset // 16 : (block.offset + block.bytes) // 16] += 1
                    self.assertLessEqual(held.max(initial=0), 1, f"step {step}, texture {texture}")
                if step > 150:
                    break

    def test_the_examples(self) -> None:
        found = example("blazeface.py", BLAZEFACE, CACHE / "astronaut.png")
        self.assertRegex(found, r"^face 0\.9\d: x 1[78]\d to 27\d, y [78]\d to 1[78]\d\n\d+ bytes")
        with tempfile.TemporaryDirectory() as folder:
            drawn = example("memory_map.py", BLAZEFACE, f"{folder}/map.png", 2 << 20)
            self.assertIn("drawn in", drawn)
            self.assertGreater(Path(folder, "map.png").stat().st_size, 10_000)


if __name__ == "__main__":
    unittest.main()
