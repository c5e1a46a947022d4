"""Runs models in texpool and in other runtimes in turns, and prints a table.

`run` installs the peers and calls this. Every program runs alone, one after another, in rounds; a cell is the median of the
rounds: processor time of a run, and in brackets wall time. The column of cold starts has the time from the file to the
first answer without a shader cache. A peer takes part where it reads the file as it is; `ncnn` gets it from its converter.

With --memory, a cell is the most bytes of device memory that the program held from its start through its runs, as a layer
of the Vulkan loader counts them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Models of the catalogue by name.
MODELS = ["blazeface", "mobilenet_v1", "mobilenet_v2", "light_squeezenet", "resnet18"]
#: Environment and name of each peer, and the endings of the files that it reads.
PEERS = {
    "ncnn-vulkan": ("ncnn", [".onnx"]),
    "litert-gpu": ("litert", [".tflite"]),
    "onnxruntime-webgpu": ("webgpu", [".onnx"]),
    "xnnpack": ("litert", [".tflite"]),
    "onnxruntime-cpu": ("onnxruntime", [".onnx"]),
}
#: Peers that compute on the device. The others use one thread of the processor.
ON_DEVICE = ["ncnn-vulkan", "litert-gpu", "onnxruntime-webgpu"]
#: Options with which peers take less device memory: the only ones that their packages have.
LOW_MEMORY = {
    # Switched off.
    "ncnn-vulkan": "use_winograd_convolution",
    "onnxruntime-webgpu": "storageBufferCacheMode=disabled",
}
#: Longest time for one program, in seconds.
PATIENCE = 600


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of the peers' environments")
    parser.add_argument("--texpool", required=True, help="the command")
    parser.add_argument("--models", default=",".join(MODELS), help="names of the catalogue")
    parser.add_argument("--peers", default=",".join(PEERS), help="peers to run")
    parser.add_argument("--rules", default="default,default;separable", help="rule sets of texpool, `;` within a set")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for the runs of one program in a round")
    parser.add_argument("--memory", action="store_true", help="measure device memory instead of time")
    parser.add_argument("--json", action="store_true", help="print every measurement as a line of JSON instead of a table")
    return parser.parse_args()


def output(command: list[str], environment: dict[str, str]) -> tuple[str, str]:
    """Returns what a program printed, or the reason why it failed."""
    try:
        ended = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PATIENCE} s"
    if ended.returncode != 0:
        remarks = ("INFO:", "WARNING:", "Warning:")
        lines = [line for line in ended.stderr.splitlines() if line.strip() and not line.startswith(remarks)]
        return "", lines[-1] if lines else f"ended with {ended.returncode}"
    return ended.stdout, ""


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.files = {model: self.file(model) for model in options.models.split(",")}

    def file(self, model: str) -> Path:
        """Downloads a model of the catalogue and returns its file."""
        printed, why = output([self.options.texpool, "models", "fetch", model, "--json"], {})
        if why:
            sys.exit(f"{model}: {why}")
        return Path(json.loads(printed)["files"][0]["at"])

    def converted(self, file: Path) -> tuple[Path, str]:
        """Converts a model for ncnn once. Returns the common part of the names of its files, and why it failed if it did."""
        folder = self.options.work / "converted"
        folder.mkdir(exist_ok=True)
        copy = folder / file.name
        if copy.with_suffix(".ncnn.bin").exists():
            return copy.with_suffix(""), ""
        python = self.options.work / "ncnn" / "bin" / "python"
        _, why = output([str(python), str(HERE / "plain_onnx.py"), str(file), str(copy)], {})
        if not why:
            converter = self.options.work / "pnnx" / "pnnx" / "pnnx"
            _, why = output([str(converter), str(copy), "inputshape=[1,3,224,224]", "fp16=0"], {})
        return copy.with_suffix(""), why and f"pnnx: {why}"

    def texpool(self, options: list[str], model: str, seconds: float, environment: dict[str, str]) -> dict:
        command = [self.options.texpool, "bench", model, *options, "--json", "--seconds", str(seconds)]
        printed, why = output(command, environment)
        if why:
            return {"why": why}
        document = json.loads(printed)
        times = {clock: document[clock]["median"] for clock in ("wall_ms", "cpu_ms")}
        return times | {"cold_ms": document["cold_ms"]}

    def peer(self, peer: str, model: str, seconds: float, environment: dict[str, str], setting: str = "") -> dict:
        folder, endings = PEERS[peer]
        file = self.files[model]
        if file.suffix not in endings:
            return {"why": f"it reads no {file.suffix}"}
        if peer == "ncnn-vulkan":
            file, why = self.converted(file)
            if why:
                return {"why": why}
        # Dawn refuses lavapipe of Mesa 22 without a claim that the layer makes.
        if peer in ("litert-gpu", "onnxruntime-webgpu"):
            environment = environment | self.layer() | {"TEXPOOL_CLAIM_INDEXING": "1"}
        python = self.options.work / folder / "bin" / "python"
        command = [str(python), str(HERE / "worker.py"), peer, str(file), str(seconds), setting]
        printed, why = output(command, environment)
        # Runtimes print remarks of their own.
        documents = [line for line in printed.splitlines() if line.startswith("{")]
        return json.loads(documents[-1]) if documents else {"why": why or "it printed no time"}

    def layer(self) -> dict[str, str]:
        """Returns the environment with which the Vulkan loader finds the layer."""
        return {"VK_LAYER_PATH": str(self.options.work), "VK_INSTANCE_LAYERS": "VK_LAYER_TEXPOOL_peers"}

    def measured(self, name: str, model: str, cold: bool) -> dict:
        seconds = 0.1 if cold else self.options.seconds
        environment = {"MESA_SHADER_CACHE_DISABLE": "true"} if cold else {}
        print(f"{model} in {name}{', cold' if cold else ''}", file=sys.stderr, flush=True)
        if name in PEERS:
            return self.peer(name, model, seconds, environment)
        return self.texpool(["--rules", name.replace(";", ",")], model, seconds, environment)

    def memory(self, name: str, model: str, setting: str) -> dict:
        """Returns the most bytes of device memory that a program held."""
        print(f"{model} in {name} {setting}", file=sys.stderr, flush=True)
        counted = self.options.work / "device_memory"
        counted.unlink(missing_ok=True)
        environment = self.layer() | {"TEXPOOL_DEVICE_MEMORY": str(counted)}
        if name in PEERS:
            answer = self.peer(name, model, 0.1, environment, setting)
        else:
            answer = self.texpool(setting.split(), model, 0.1, environment)
        if "why" in answer:
            return answer
        return {"bytes": int(counted.read_text())} if counted.exists() else {"why": "it allocated no device memory"}


def memory_table(bench: Bench, options: argparse.Namespace) -> None:
    """Measures and prints the device memory of each runtime, by default and in its mode of least memory."""
    rows = [("texpool", ""), ("texpool", "--objective smallest")]
    for peer in options.peers.split(","):
        if peer in ON_DEVICE:
            rows += [(peer, setting) for setting in ("", *filter(None, [LOW_MEMORY.get(peer)]))]
    found = {(row, model): bench.memory(row[0], model, row[1]) for row in rows for model in bench.files}
    if options.json:
        for ((name, setting), model), answer in found.items():
            print(json.dumps({"model": model, "runtime": name, "setting": setting} | answer))
        return
    print("Most bytes of device memory since the program began\n")
    print("| runtime | " + " | ".join(bench.files) + " |")
    print("|---" + "|---:" * len(bench.files) + "|")
    for name, setting in rows:
        answers = [found[(name, setting), model] for model in bench.files]
        cells = [f"{answer['bytes']:,}" if "bytes" in answer else f"*{answer['why']}*" for answer in answers]
        print(f"| {name}{setting and f', `{setting}`'} | " + " | ".join(cells) + " |")


def cell(warm: list[dict], cold: dict) -> str:
    """Returns processor time, wall time and the cold start, or why there are none."""
    times = [one for one in warm if "why" not in one]
    if not times:
        return f"*{warm[0]['why']}*"
    cpu, wall = (statistics.median(one[clock] for one in times) for clock in ("cpu_ms", "wall_ms"))
    start = f"{cold['cold_ms'] / 1e3:.2f} s" if "why" not in cold else "–"
    return f"{cpu:.3g} ({wall:.3g}), {start}"


def main() -> None:
    options = arguments()
    bench = Bench(options)
    if options.memory:
        memory_table(bench, options)
        return
    names = [*options.rules.split(","), *options.peers.split(",")]
    found: dict[tuple[str, str], list[dict]] = {}
    for _ in range(options.rounds):
        for model in bench.files:
            for name in names:
                found.setdefault((model, name), []).append(bench.measured(name, model, cold=False))
    cold = {key: bench.measured(key[1], key[0], cold=True) if "why" not in found[key][0] else {"why": ""} for key in found}
    if options.json:
        for (model, name), rounds in found.items():
            print(json.dumps({"model": model, "runtime": name, "rounds": rounds, "cold": cold[model, name]}))
        return
    heads = [name if name in PEERS else f"texpool `{name.replace(';', ',')}`" for name in names]
    print(f"CPU ms (wall ms), cold start without a shader cache; {options.rounds} rounds in turns\n")
    print("| model | " + " | ".join(heads) + " | least CPU of a peer on the device / texpool's |")
    print("|---" * (len(heads) + 2) + "|")
    for model in bench.files:
        cells = [cell(found[model, name], cold[model, name]) for name in names]
        least = {
            name: min((one["cpu_ms"] for one in found[model, name] if "why" not in one), default=None) for name in names
        }
        ours = [least[name] for name in names if name not in PEERS and least[name] is not None]
        theirs = [least[name] for name in names if name in ON_DEVICE and least[name] is not None]
        ratio = f"{min(theirs) / min(ours):.2f}" if ours and theirs else "–"
        print(f"| {model} | " + " | ".join(cells) + f" | {ratio} |")


main()
