"""What a run through the runtime costs beside the same run by texpool's C interface, called from Python:
`python call_cost.py DELEGATE C_LIBRARY SECONDS MODEL...`

Two sessions of one model run in turns, so that whatever else the machine does meets both alike. Models whose inputs and
outputs are 32-bit floats.
"""

import ctypes
import statistics
import sys
import time
from ctypes import byref, c_char_p, c_size_t, c_uint32, c_void_p, sizeof

import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate

FLOATS = 1


class Descriptor(ctypes.Structure):
    """texpool_session_descriptor"""

    _fields_ = [
        ("struct_size", c_size_t), ("device", c_void_p), ("model_path", c_char_p), ("model_data", c_void_p),
        ("model_bytes", c_size_t), ("plan_data", c_void_p), ("plan_bytes", c_size_t), ("options", c_void_p),
        ("option_count", c_size_t), ("progress", c_void_p), ("user_data", c_void_p),
    ]


class Input(ctypes.Structure):
    """texpool_input"""

    _fields_ = [
        ("name", c_char_p), ("index", c_size_t), ("data", c_void_p), ("bytes", c_size_t), ("element_type", c_uint32),
        ("rank", c_size_t), ("dims", c_void_p), ("strides", c_void_p),
    ]


class Output(ctypes.Structure):
    """texpool_output"""

    _fields_ = [
        ("name", c_char_p), ("index", c_size_t), ("data", c_void_p), ("bytes", c_size_t), ("element_type", c_uint32),
    ]


def compare(delegate: str, library: ctypes.CDLL, seconds: float, model: str) -> None:
    interpreter = Interpreter(model, experimental_delegates=[load_delegate(delegate)], num_threads=1)
    interpreter.allocate_tensors()
    descriptor = Descriptor(struct_size=sizeof(Descriptor), model_path=model.encode())
    session = c_void_p()
    assert library.texpool_session_create(byref(descriptor), byref(session), None) == 0
    given = [np.zeros(detail["shape"], np.float32) for detail in interpreter.get_input_details()]
    rooms = [np.zeros(detail["shape"], np.float32) for detail in interpreter.get_output_details()]
    for detail, array in zip(interpreter.get_input_details(), given):
        interpreter.set_tensor(detail["index"], array)
    inputs = (Input * len(given))(
        *[Input(None, i, a.ctypes.data, a.nbytes, FLOATS, 0, None, None) for i, a in enumerate(given)])
    outputs = (Output * len(rooms))(*[Output(None, i, a.ctypes.data, a.nbytes, FLOATS) for i, a in enumerate(rooms)])
    counts = c_size_t(len(given)), c_size_t(len(rooms))
    times: list[list[float]] = [[], []]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        interpreter.invoke()
        times[0].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        status = library.texpool_session_run(session, inputs, counts[0], outputs, counts[1], None)
        times[1].append(time.perf_counter() - begun)
        assert status == 0
    library.texpool_session_release(session)
    through, direct = ([1e6 * quarter for quarter in statistics.quantiles(one, n=4)] for one in times)
    print(f"{model}: microseconds of {len(times[0])} runs, quartiles")
    print("through the runtime {:9.1f} {:9.1f} {:9.1f}, {:+.1f} at the median".format(*through, through[1] - direct[1]))
    print("C interface         {:9.1f} {:9.1f} {:9.1f}".format(*direct))


def main() -> None:
    delegate, library, seconds, *models = sys.argv[1:]
    for model in models:
        compare(delegate, ctypes.CDLL(library), float(seconds), model)


if __name__ == "__main__":
    main()
