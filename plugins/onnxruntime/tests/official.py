"""ONNX's own cases of its operators, as they lie in the package `onnx`, through the runtime with the provider.

`python official.py` writes `official.csv`: of each operator what came of its cases. `crates/texpool-model/src/import/onnx/official.csv` has the
importer's own.
"""

import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from support import on_cpu, reported

DATA = Path(onnx.__file__).parent / "backend/test/data/node"
#: Maximum number of a case's inputs that are turned into constants. No relevant case has more.
MOST_INPUTS = 8
#: 32-bit floats represent all whole numbers up to this one exactly.
EXACT = 1 << 24
#: ONNX types that texpool does not compute with: most types with at most eight bits, double, bfloat16, complex and
#: strings.
OTHERS = re.compile(r"string|complex|double|float4|float8|bfloat16|int2|int4|seq|optional|sparse|map")
#: Reasons that concern unknown extents or values, not the operator.
OF_BINDING = re.compile(r"at run time|must be known|does not state the extents")


class Case:
    """A model, and arrays that go in and must come out."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.model = onnx.load(folder / "model.onnx")
        data = folder / "test_data_set_0"
        self.inputs = [self.array(path) for path in self.paths(data, "input")]
        self.outputs = [self.array(path) for path in self.paths(data, "output")]
        nodes = self.model.graph.node
        self.operators = {f"{node.domain}.{node.op_type}".removeprefix(".") for node in nodes}

    @staticmethod
    def paths(data: Path, role: str) -> list[Path]:
        return sorted(data.glob(f"{role}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))

    @staticmethod
    def array(path: Path) -> np.ndarray:
        message = onnx.TensorProto()
        message.ParseFromString(path.read_bytes())
        return numpy_helper.to_array(message)

    def others(self) -> bool:
        """Whether it takes or gives what is not computed with."""
        ports = [*self.model.graph.input, *self.model.graph.output]
        if any(port.type.WhichOneof("value") != "tensor_type" for port in ports):
            return True
        kinds = [onnx.TensorProto.DataType.Name(port.type.tensor_type.elem_type).lower() for port in ports]
        whole = [array for array in (*self.inputs, *self.outputs) if array.dtype.kind in "iu"]
        beyond = any(array.size and (array.max() > EXACT or array.min() < -EXACT) for array in whole)
        return beyond or any(OTHERS.match(kind) for kind in kinds)

    def bound(self, which: tuple[int, ...]) -> bytes:
        """The model with some of its inputs as parts of it, and the extents that the others have."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.ir_version = max(model.ir_version, 4)
        ports = list(model.graph.input)
        for index, (port, array) in enumerate(zip(ports, self.inputs, strict=False)):
            if index in which:
                model.graph.input.remove(port)
                model.graph.initializer.append(numpy_helper.from_array(array, port.name))
        return model.SerializeToString()


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    """As ONNX compares."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if found.dtype.kind in "iub":
        return np.array_equal(found, wanted)
    return np.allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=1e-3, atol=1e-7, equal_nan=True)


def outcome(case: Case) -> tuple[str, str]:
    """`passed`, where it is taken whole and right; `left`, where it is right and not taken whole; `failed`, where what is
    taken is wrong; `host`, where nothing is taken and the runtime itself cannot, or has another answer than ONNX."""
    count = min(len(case.inputs), MOST_INPUTS)
    masks = [which for size in range(count + 1) for which in itertools.combinations(reversed(range(count)), size)]
    why, answered = "", True
    for which in masks:
        model = case.bound(which)
        try:
            session, report = reported(model, plain=True)
        except Exception as error:
            try:
                on_cpu(model)
            except Exception:
                return "host", str(error)
            if "texpool: " not in str(error):
                raise
            return "failed", str(error)
        if not report:
            return "host", "the runtime leaves no node of it"
        names = [node.name for node in session.get_inputs()]
        given = {port.name: array for port, array in zip(case.model.graph.input, case.inputs, strict=False)}
        try:
            found = session.run(None, {name: given[name] for name in names})
        except Exception as error:
            if "texpool: " not in str(error):
                return "host", str(error)
            return "failed", str(error)
        left = [line for line in report if "left: " in line]
        taken = "are taken" in report[1] or "is taken, as" in report[1]
        right = all(close(one, other) for one, other in zip(found, case.outputs, strict=False))
        if taken and not right:
            own = on_cpu(model).run(None, {name: given[name] for name in names})
            if all(close(one, other) for one, other in zip(found, own, strict=True)):
                return "host", "the runtime's own answer, which is not ONNX's"
            return "failed", "another answer"
        if taken and not left:
            return "passed", ""
        answered = answered and right
        if not why or OF_BINDING.search(why):
            why = "; ".join(left) or report[1]
        if which == () and not any(OF_BINDING.search(line) for line in left):
            break
    return ("left" if answered else "host"), why


def counted() -> tuple[dict[str, Counter[str]], list[str]]:
    """Outcomes by operator, and a line of each case that does not pass."""
    counts: dict[str, Counter[str]] = {}
    lines = []
    for folder in sorted(DATA.iterdir()):
        case = None
        try:
            case = Case(folder)
            # Skip cases with several operators, such as expanded functions, because they cannot be assigned to one
            # operator.
            if len(case.operators) != 1 or case.name.endswith("_expanded") or "_expanded_" in case.name:
                continue
            result = ("type", "") if case.others() else outcome(case)
        except Exception as error:
            if case is None or case.others():
                result = ("type", str(error))
            else:
                raise
        if case is None or len(case.operators) != 1:
            continue
        (operator,) = case.operators
        counts.setdefault(operator, Counter())[result[0]] += 1
        if result[0] != "passed":
            lines.append(f"{case.name},{operator},{result[0]},{result[1].splitlines()[0] if result[1] else ''}")
    return counts, lines


def text(counts: dict[str, Counter[str]]) -> str:
    """As a CSV."""
    rows = [
        ",".join([operator, *(str(count[kind]) for kind in ("passed", "left", "host", "failed", "type"))])
        for operator, count in sorted(counts.items())
        if count["passed"] or count["failed"]
    ]
    return "\n".join(["operator,passed,left,host,failed,other types", *rows]) + "\n"


if __name__ == "__main__":
    every, told = counted()
    Path(sys.argv[1] if len(sys.argv) > 1 else "official.csv").write_text(text(every))
    print("\n".join(told))
    print(sum((count for count in every.values()), Counter()))
