"""Plans the same buffers in one arena with texpool and with the planners of omnimalloc, and prints a table.

`run` installs omnimalloc and calls this. The buffers are minimalloc's benchmark, instances of omnimalloc's generators, and
the tensors of networks of the catalogue. Planners run one after another, each with the same deadline and with all
processors. A cell has the excess over the best lower bound that any planner proved, and the wall time; texpool's includes
the start of the command and reading the file. omnimalloc checks every plan, also those of texpool.

With MINIMALLOC=PROGRAM, the executable of minimalloc joins. It searches for a plan within a capacity, so the script
tries the bound, then halves the distance to the best arena, and gives each capacity half of the time that is left.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import omnimalloc
from omnimalloc.allocators import (
    GreedyBySizeAllocator,
    OmniAllocator,
    SupermallocAllocator,
    TelamallocAllocator,
)
from omnimalloc.benchmark import sources
from omnimalloc.io import load_allocation, save_allocation

Buffers = tuple[omnimalloc.Allocation, ...]

HERE = Path(__file__).resolve().parent
MINIMALLOC_SETS = HERE.parent.parent / "tests" / "data" / "minimalloc"
#: Generators of omnimalloc with their default seeds, and numbers of buffers.
GENERATED = {
    "pinwheel": (sources.PinwheelSource, [129, 1001]),
    "tiling": (sources.TilingSource, [128, 1000]),
    "skewed": (sources.SkewedSource, [128, 1000, 10_000]),
    "random": (sources.RandomSource, [1000, 10_000]),
    "power_of_2": (sources.PowerOf2Source, [1000]),
    "high_contention": (sources.HighContentionSource, [100, 1000]),
    "sequential": (sources.SequentialSource, [1000]),
}
#: Names of the catalogue.
NETWORKS = ["mobilenet_v2", "inception_v3", "mobilebert", "u2netp"]


@dataclass
class Answer:
    """The size of a valid arena, the best lower bound that the planner states, and the wall time in seconds."""

    total: int
    bound: int
    seconds: float


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the instances")
    parser.add_argument("--texpool", required=True, help="the command")
    parser.add_argument("--instances", default="", help="parts of names; by default all instances run")
    parser.add_argument("--seconds", type=float, default=10.0, help="deadline of a planner")
    parser.add_argument("--json", action="store_true", help="print every measurement as a line of JSON instead of a table")
    return parser.parse_args()


def instances(texpool: str, folder: Path, wanted: list[str]) -> list[Path]:
    """Writes every wanted instance as a file in minimalloc's format."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []

    def add(name: str, write: Callable[[Path], object]) -> None:
        if not wanted or any(part in name for part in wanted):
            file = folder / f"{name}.csv"
            write(file)
            # minimalloc takes a carriage return for a part of the last column's name.
            file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
            files.append(file)

    for source in sorted(MINIMALLOC_SETS.glob("*.csv")):
        name = source.name.split(".")[0]
        add(f"minimalloc {name}", lambda file, source=source: file.write_bytes(source.read_bytes()))
    for name, (generator, counts) in GENERATED.items():
        for count in counts:
            add(
                f"{name} {count}",
                lambda file, generator=generator, count=count: save_allocation(
                    generator(num_allocations=count).get_allocations(), file
                ),
            )
    for network in NETWORKS:
        command = [texpool, "plan", network, "--stream", "none", "--records-out"]
        add(network, lambda file, command=command: subprocess.run([*command, str(file)], check=True, capture_output=True))
    return files


def buffers_of(file: Path) -> Buffers:
    """Reads an instance without the offsets of a plan."""
    return tuple(buffer.with_offset(None) for buffer in load_allocation(file).allocations)


def checked(buffers: Buffers, placed: Buffers) -> int:
    """Returns the size of the arena after omnimalloc has accepted the plan, and all buffers are those of the instance."""
    omnimalloc.validate_allocation(placed)
    key = lambda buffer: (str(buffer.id), buffer.start, buffer.end, buffer.size)  # noqa: E731
    if sorted(map(key, buffers)) != sorted(map(key, placed)):
        raise ValueError("the plan has other buffers")
    return max(buffer.offset + buffer.size for buffer in placed)


class Planners:
    """Planners by name. Each receives an instance's file and its buffers."""

    def __init__(self, texpool: str, seconds: float) -> None:
        self.command, self.seconds = texpool, seconds
        self.by_name: dict[str, Callable[[Path, Buffers], Answer]] = {
            "texpool": self.texpool,
            "SuperMalloc": self.supermalloc,
            "TelaMalloc": self.allocator(TelamallocAllocator(timeout=seconds)),
            "OmniAllocator": self.allocator(OmniAllocator()),
            "greedy by size": self.allocator(GreedyBySizeAllocator()),
        }
        if program := os.environ.get("MINIMALLOC"):
            self.by_name["minimalloc"] = lambda file, buffers: self.minimalloc(program, file, buffers)

    def texpool(self, file: Path, buffers: Buffers) -> Answer:
        plan = file.with_suffix(".plan")
        command = [self.command, "plan", "--records", str(file), "--arena", "--deadline", str(self.seconds)]
        begun = time.monotonic()
        ended = subprocess.run([*command, "--write", str(plan), "--json"], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begun
        if not ended.stdout:
            raise RuntimeError(ended.stderr.strip())
        document = json.loads(ended.stdout)
        return Answer(checked(buffers, load_allocation(plan).allocations), document["bound"], seconds)

    def supermalloc(self, _file: Path, buffers: Buffers) -> Answer:
        begun = time.monotonic()
        result = SupermallocAllocator(timeout=self.seconds).solve(buffers)
        seconds = time.monotonic() - begun
        bound = result.peak if result.proved_optimal else result.lower_bound
        return Answer(checked(buffers, result.allocations), bound, seconds)

    def allocator(self, allocator: omnimalloc.allocators.BaseAllocator) -> Callable[[Path, Buffers], Answer]:
        def plan(_file: Path, buffers: Buffers) -> Answer:
            begun = time.monotonic()
            placed = allocator.allocate(buffers)
            seconds = time.monotonic() - begun
            return Answer(checked(buffers, placed), 0, seconds)

        return plan

    def minimalloc(self, program: str, file: Path, buffers: Buffers) -> Answer:
        """Bisects the capacity, because minimalloc searches for a plan within one."""
        begun = time.monotonic()
        left = lambda: self.seconds - (time.monotonic() - begun)  # noqa: E731
        plan = file.with_suffix(".minimalloc")
        bound = floor = widest_step(buffers)
        best = checked(buffers, OmniAllocator().allocate(buffers))
        while floor < best and left() > 0.01:
            # The bound comes first. Half of the rest for each capacity leaves time for others if one stays undecided.
            capacity, limit = bound if floor == bound else (floor + best) // 2, left() / 2
            command = [program, f"--capacity={capacity}", f"--input={file}", f"--output={plan}", f"--timeout={limit:.3f}s"]
            plan.unlink(missing_ok=True)
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if plan.exists():
                best = checked(buffers, load_allocation(plan).allocations)
                continue
            if "NOT_FOUND: Error encountered during search" in ended.stderr:
                bound = capacity + 1 if floor == bound else bound
            elif "DEADLINE_EXCEEDED" not in ended.stderr:
                raise RuntimeError(ended.stderr)
            floor = capacity + 1
        return Answer(best, bound, time.monotonic() - begun)


def widest_step(buffers: Buffers) -> int:
    """Returns the most bytes that are alive at once."""
    changes = [(buffer.start, buffer.size) for buffer in buffers] + [(buffer.end, -buffer.size) for buffer in buffers]
    return max(itertools.accumulate(change for _, change in sorted(changes)))


def main() -> None:
    chosen = options()
    wanted = [part for part in chosen.instances.split(",") if part]
    files = instances(chosen.texpool, chosen.work / "instances", wanted)
    planners = Planners(chosen.texpool, chosen.seconds)
    if not chosen.json:
        print(f"Excess over the lower bound and wall time; at most {chosen.seconds:g} s each, omnimalloc", end=" ")
        print(f"{omnimalloc.__version__}. Bold: proven to be the smallest.\n")
        print("| instance | buffers | bound | " + " | ".join(planners.by_name) + " |")
        print("|---" + "|---:" * (len(planners.by_name) + 2) + "|", flush=True)
    for file in files:
        buffers = buffers_of(file)
        answers: dict[str, Answer] = {}
        for name, planner in planners.by_name.items():
            print(f"{file.stem} with {name}", file=sys.stderr, flush=True)
            answers[name] = planner(file, buffers)
        bound = max(answer.bound for answer in answers.values())
        if chosen.json:
            for name, answer in answers.items():
                print(json.dumps({"instance": file.stem, "buffers": len(buffers), "planner": name} | vars(answer)), flush=True)
            continue
        cells = [cell(answer, bound) for answer in answers.values()]
        print(f"| {file.stem} | {len(buffers):,} | {bound:,} | " + " | ".join(cells) + " |", flush=True)


def cell(answer: Answer, bound: int) -> str:
    excess = f"{100 * (answer.total / bound - 1):.2f} %"
    proven = answer.total == answer.bound
    return f"{f'**{excess}**' if proven else excess} {answer.seconds:.2f} s"


main()
