"""Scores a folder of pictures on any number of machines, with Ray Data:

    python ray_batch.py MODEL.tflite PICTURES ANSWERS [--workers 2] [--adapter NAME]

`ANSWERS` becomes a folder of Parquet files with a row for each picture: its path, the best class, its score, and what
was wrong with the picture where something was. Needs Ray with its data part and Pillow: `pip install "ray[data]" pillow`.

Each worker is a process that makes its session once. A worker that is killed is started again, and what it was at is
done again. Ray's `num_gpus` hides GPUs through CUDA's variables, which Vulkan does not look at; a machine says instead
how many of its devices there are with `ray start --resources='{"vulkan": 4}'`, each worker takes one, and
`--adapter` names which by name or PCI address: a list with commas, of which each worker takes the first that is free.
"""

import argparse
import fcntl
import io
import os
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
import ray
import ray.data
from PIL import Image, UnidentifiedImageError

import texpool


class Classifier:
    """What a worker does: its session is made once, and pickled never."""

    def __init__(self, model: str, adapters: list[str]) -> None:
        self.lock, adapter = taken(adapters)
        self.session = texpool.InferenceSession(model, device=adapter)
        [self.input] = self.session.get_inputs()
        self.scores = self.session.get_outputs()[0].name

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        rows = [self.row(data) for data in batch["bytes"]]
        labels, scores, errors = zip(*rows)
        return {
            "path": batch["path"],
            "class": np.array(labels, np.int64),
            "score": np.array(scores, np.float32),
            "error": np.array(errors, object),
            "worker": np.full(len(rows), os.getpid(), np.int64),
        }

    def row(self, data: bytes) -> tuple[int, float, str]:
        """The best class and its score, or what is wrong with the picture."""
        try:
            with Image.open(io.BytesIO(data)) as picture:
                pixels = picture.convert("RGB").resize(self.input.shape[2:0:-1])
        except UnidentifiedImageError:
            return -1, float("nan"), "not a picture that Pillow knows"
        # The last two are raised for some damaged files, and for pictures with too many pixels.
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            return -1, float("nan"), f"{type(error).__name__}: {error}"
        image = np.asarray(pixels, np.float32) / 127.5 - 1
        [scores] = self.session.run([self.scores], {self.input.name: image[None]})
        best = int(scores.argmax())
        return best, float(scores.flat[best]), ""


def taken(adapters: list[str]) -> tuple[IO[str] | None, str | None]:
    """The first of the adapters that no other worker of this machine has, as long as the file stays open."""
    for index, adapter in enumerate(adapters):
        file = open(Path(tempfile.gettempdir(), f"texpool-ray-{os.getuid()}-{index}.lock"), "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        return file, adapter
    return None, adapters[-1] if adapters else None


def score(model: str, pictures: str, answers: str, workers: int, adapters: list[str], batch: int) -> None:
    """Reads pictures, scores them, and writes the answers, with a bar for each stage."""
    files = ray.data.read_binary_files(pictures, include_paths=True)
    # More blocks than workers keep all workers busy, and limit the work that is repeated if a worker is killed.
    files = files.repartition(max(workers * 4, 1))
    scored = files.map_batches(
        Classifier,
        fn_constructor_kwargs={"model": str(Path(model).resolve()), "adapters": adapters},
        compute=ray.data.ActorPoolStrategy(size=workers),
        batch_size=batch,
        resources={"vulkan": 1},
        # Damaged pictures are reported as rows, so the only failures left to retry are killed workers.
        max_restarts=-1,
        max_task_retries=-1,
    )
    scored.write_parquet(answers)


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores a folder of pictures with Ray Data.")
    parser.add_argument("model")
    parser.add_argument("pictures")
    parser.add_argument("answers")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--adapter", default="", help="names or PCI addresses, with commas between them")
    parser.add_argument("--batch", type=int, default=16, help="pictures that a worker takes at a time")
    asked = parser.parse_args()
    # An existing cluster defines its number of devices. A new one started here gets one device per worker.
    if os.environ.get("RAY_ADDRESS"):
        ray.init()
    else:
        ray.init(num_cpus=max(asked.workers + 1, 2), resources={"vulkan": asked.workers}, include_dashboard=False)
    adapters = [name for name in asked.adapter.split(",") if name]
    begun = time.monotonic()
    score(asked.model, asked.pictures, asked.answers, asked.workers, adapters, asked.batch)
    print(f"answers in {asked.answers} after {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
