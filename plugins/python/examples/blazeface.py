"""Finds faces in a photo: `python blazeface.py MODEL.tflite PHOTO`. Needs Pillow."""

import sys

import numpy as np
from PIL import Image, ImageOps

import texpool

SIZE = 128


def letterboxed(photo: Image.Image) -> np.ndarray:
    """The whole photo with black bars, as values from -1 to 1."""
    square = ImageOps.pad(photo.convert("RGB"), (SIZE, SIZE))
    return (np.asarray(square, np.float32) / 127.5 - 1)[None]


def anchors() -> np.ndarray:
    """Centres of the 896 anchors: two in each cell of a 16 by 16 grid, six in each of an 8 by 8 one."""
    centres = []
    for grid, each in [(16, 2), (8, 6)]:
        y, x = np.mgrid[:grid, :grid].reshape(2, -1).repeat(each, axis=1)
        centres.append(np.stack([x + 0.5, y + 0.5], axis=1) / grid)
    return np.concatenate(centres)


def faces(regressors: np.ndarray, scores: np.ndarray, photo: Image.Image) -> list[tuple[float, list[int]]]:
    """Score and left, top, right, bottom in pixels of the photo, of each face, the best of boxes that overlap."""
    centre = anchors() + regressors[0, :, :2] / SIZE
    half = regressors[0, :, 2:4] / SIZE / 2
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    sure = 1 / (1 + np.exp(-scores[0, :, 0].clip(-80, 80)))
    # The photo was padded to a square with two bars of equal width.
    edge = max(photo.size)
    bars = [(edge - extent) / 2 for extent in photo.size] * 2
    found: list[tuple[float, list[int]]] = []
    for index in np.argsort(-sure):
        if sure[index] < 0.5:
            break
        box = [round(float(share) * edge - bar) for share, bar in zip(boxes[index], bars)]
        if not any(overlap(box, other) > 0.3 for _, other in found):
            found.append((float(sure[index]), box))
    return found


def overlap(a: list[int], b: list[int]) -> float:
    """Intersection over union."""
    both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    either = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)) - both
    return both / either if either > 0 else 0.0


def main() -> None:
    model, path = sys.argv[1:]
    photo = Image.open(path)
    with texpool.InferenceSession(model) as session:
        regressors, scores = session.run(["regressors", "classificators"], {"input": letterboxed(photo)})
        taken = session.memory()["planned"]["total"]
    for score, (left, top, right, bottom) in faces(regressors, scores, photo):
        print(f"face {score:.2f}: x {left} to {right}, y {top} to {bottom}")
    print(f"{taken} bytes of the device's memory")


if __name__ == "__main__":
    main()
