"""Draws what lies where in a model's pool at every step, and what smaller pools cost:
`python memory_map.py MODEL PICTURE.png [BUDGET]`. Needs matplotlib."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

import texpool


def draw_map(axes: Axes, session: texpool.InferenceSession) -> None:
    """Steps from left to right, textures one above the other, a colour a tensor."""
    pool = session.memory_map()
    bottoms = [sum(pool.textures[:index]) for index in range(len(pool.textures) + 1)]
    colours: dict[str, int] = {}
    patches, values = [], []
    for block in pool.blocks:
        steps = block.last_step - block.first_step + 1
        corner = (block.first_step, bottoms[block.texture] + block.offset)
        patches.append(Rectangle(corner, steps, block.bytes))
        # Give consecutive tensors clearly different colours.
        values.append(colours.setdefault(block.tensor, len(colours)) * 0.618 % 1)
    axes.add_collection(PatchCollection(patches, array=values, cmap="hsv", alpha=0.6))
    for bottom in bottoms:
        axes.axhline(bottom, color="black", linewidth=0.8)
    axes.set(xlim=(0, pool.steps), ylim=(0, bottoms[-1]), xlabel="step", ylabel="bytes of the pool")
    axes.set_title(f"{len(pool.textures)} textures, {bottoms[-1]:,} bytes, {len(colours)} tensors")


def draw_front(axes: Axes, model: str) -> None:
    """All of the device's bytes against predicted time."""
    front = texpool.pareto_front(model)
    milliseconds = [1e3 * (point.seconds or 0) for point in front]
    axes.step(milliseconds, [point.device_bytes for point in front], where="post", marker="o")
    axes.set(xlabel="predicted milliseconds (a software device)", ylabel="bytes of the device", ylim=(0, None))
    axes.set_title(f"{len(front)} plans that none beats in both")


def main() -> None:
    model, picture, *rest = sys.argv[1:]
    session = texpool.InferenceSession(model, budget=int(rest[0]) if rest else None)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    draw_map(left, session)
    draw_front(right, model)
    figure.savefig(picture, dpi=100)
    print(f"{session!r}, drawn in {picture}")


if __name__ == "__main__":
    main()
