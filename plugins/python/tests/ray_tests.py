"""The example for Ray: two workers, one of them killed, answer as one process does."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from PIL import Image

from support import CACHE, HERE, SLOW

EXAMPLES = HERE.parent / "examples"
#: Enough pictures to keep two workers busy for seconds.
PICTURES = 240


def pictures(folder: Path) -> None:
    """Parts of photos, a picture that is cut short, and a file that is none."""
    photos = [Image.open(CACHE / f"{name}.png").convert("RGB") for name in ("astronaut", "coffee", "chelsea")]
    generator = np.random.default_rng(1)
    folder.mkdir()
    for index in range(PICTURES):
        photo = photos[index % len(photos)]
        left, top = (int(generator.integers(0, extent - 200)) for extent in photo.size)
        photo.crop((left, top, left + 200, top + 200)).save(folder / f"{index:04}.jpg")
    (folder / "cut.jpg").write_bytes((folder / "0000.jpg").read_bytes()[:2000])
    (folder / "text.jpg").write_bytes(b"no picture")


def rows(table: Any) -> dict[str, tuple[int, float, str]]:
    """Answers by the names of the pictures; a score that is not a number as -1."""
    found = {}
    for row in table:
        assert Path(row["path"]).name not in found, f"{row['path']} is there twice"
        score = -1.0 if np.isnan(row["score"]) else float(row["score"])
        found[Path(row["path"]).name] = (int(row["class"]), score, str(row["error"]))
    return found


def busy_workers(environment: str) -> list[int]:
    """Returns the Ray workers with this in their environment that are scoring a batch, which Ray says in their titles."""
    workers = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # It has ended.
            continue
        if title.startswith(b"ray::MapWorker(MapBatches(Classifier)).submit") and environment.encode() in variables:
            workers.append(int(process.name))
    return workers


class Ray(unittest.TestCase):
    def test_a_killed_worker_loses_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            pictures(folder / "pictures")
            answers_folder = folder / "answers"
            command = [sys.executable, EXAMPLES / "ray_batch.py", SLOW, folder / "pictures", answers_folder]
            # The name of the folder is unique, so it tells the workers of this test from all others.
            environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "XDG_RUNTIME_DIR": name}
            job = subprocess.Popen(
                [*command, "--workers", "2", "--batch", "4"],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            killed = None
            while killed is None and job.poll() is None:
                # Once the first of eight answers is written, a busy worker has a session and several pictures to go.
                if any(answers_folder.glob("*.parquet")) and (workers := busy_workers(name)):
                    killed = min(workers)
                    os.kill(killed, signal.SIGKILL)
                time.sleep(0.05)
            said, _ = job.communicate()
            self.assertEqual(job.returncode, 0, said)
            self.assertIsNotNone(killed, said)
            self.assertIn("MapBatches(Classifier)", said)

            table = pyarrow.parquet.read_table(answers_folder).to_pylist()
            answers = rows(table)
            self.assertGreaterEqual(len({row["worker"] for row in table} - {killed}), 1)

            sys.path.insert(0, str(EXAMPLES))
            import ray_batch

            files = sorted((folder / "pictures").iterdir())
            paths, data = [str(file) for file in files], [file.read_bytes() for file in files]
            batch: dict[str, Any] = {"path": paths, "bytes": data}
            alone = ray_batch.Classifier(str(SLOW), [])(batch)
            expected = rows([dict(zip(alone, values)) for values in zip(*alone.values())])
            self.assertEqual(answers, expected)
            self.assertEqual(len(answers), PICTURES + 2)
            self.assertEqual(answers["text.jpg"][0], -1)
            self.assertIn("not a picture", answers["text.jpg"][2])
            self.assertIn("truncated", answers["cut.jpg"][2])

    def test_each_worker_takes_an_adapter_of_its_own(self) -> None:
        sys.path.insert(0, str(EXAMPLES))
        import ray_batch

        first, name = ray_batch.taken(["a", "b"])
        second, other = ray_batch.taken(["a", "b"])
        self.assertEqual((name, other), ("a", "b"))
        assert first is not None and second is not None
        first.close()
        again, name = ray_batch.taken(["a", "b"])
        self.assertEqual(name, "a")
        assert again is not None
        again.close(), second.close()
        self.assertEqual(ray_batch.taken([]), (None, None))


if __name__ == "__main__":
    unittest.main()
