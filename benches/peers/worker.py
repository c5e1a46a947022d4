"""Runs one model in one peer and prints a line of JSON: milliseconds of a run, and until the first answer.

worker.py PEER MODEL SECONDS [SETTING]

SETTING names an option of the peer that takes less memory (`LOW_MEMORY` in peers.py lists them).
"""

import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np

#: Fewest runs, however long one takes.
RUNS = 5


def random(shape: list[int]) -> np.ndarray:
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(np.float32)


def litert_gpu(model: str, _: str) -> Callable[[], object]:
    from ai_edge_litert.compiled_model import CompiledModel, GpuOptions, HardwareAccelerator, Options

    options = Options(hardware_accelerators=HardwareAccelerator.GPU, gpu_options=GpuOptions(enforce_f32=True))
    compiled = CompiledModel.from_file(model, options=options)
    if not compiled.is_fully_accelerated():
        raise SystemExit("the accelerator takes only a part of the model")
    signature = next(iter(compiled.get_signature_list()))
    inputs, outputs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    details = compiled.get_input_tensor_details(signature)
    shape = list(next(iter(details.values()))["shape"])
    lengths = [int(np.prod(one["shape"])) for one in compiled.get_output_tensor_details(signature).values()]
    values = random(shape)

    def run() -> object:
        inputs[0].write(values)
        compiled.run_by_index(0, inputs, outputs)
        return [output.read(length, np.float32) for output, length in zip(outputs, lengths)]

    return run


def xnnpack(model: str, _: str) -> Callable[[], object]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model, num_threads=1)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    outputs = [output["index"] for output in interpreter.get_output_details()]
    values = random(list(given["shape"]))

    def run() -> object:
        interpreter.set_tensor(given["index"], values)
        interpreter.invoke()
        return [interpreter.get_tensor(output) for output in outputs]

    return run


def onnxruntime(model: str, provider: str, setting: str) -> Callable[[], object]:
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    key, _, value = setting.partition("=")
    session = runtime.InferenceSession(model, options, providers=[(provider, {key: value} if key else {})])
    if provider not in session.get_providers():
        raise SystemExit(f"{provider} finds no device")
    given = session.get_inputs()[0]
    values = random([extent if isinstance(extent, int) and extent > 0 else 1 for extent in given.shape])
    return lambda: session.run(None, {given.name: values})


def ncnn(model: str, setting: str) -> Callable[[], object]:
    import ncnn as runtime

    net = runtime.Net()
    net.opt.use_vulkan_compute = True
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    for option in filter(None, setting.split(",")):
        setattr(net.opt, option, False)
    net.set_vulkan_device(0)
    net.load_param(f"{model}.ncnn.param")
    net.load_model(f"{model}.ncnn.bin")
    values = random([3, 224, 224])

    def run() -> object:
        extractor = net.create_extractor()
        extractor.input("in0", runtime.Mat(values))
        return np.array(extractor.extract("out0")[1])

    return run


PEERS = {
    "litert-gpu": litert_gpu,
    "xnnpack": xnnpack,
    "onnxruntime-webgpu": lambda model, setting: onnxruntime(model, "WebGpuExecutionProvider", setting),
    "onnxruntime-cpu": lambda model, setting: onnxruntime(model, "CPUExecutionProvider", setting),
    "ncnn-vulkan": ncnn,
}


def main() -> None:
    peer, model, seconds, setting = sys.argv[1], sys.argv[2], float(sys.argv[3]), "".join(sys.argv[4:])
    begun = time.perf_counter()
    run = PEERS[peer](model, setting)
    run()
    cold = time.perf_counter() - begun
    run()
    wall, processor = [], time.process_time()
    end = time.perf_counter() + seconds
    while len(wall) < RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        wall.append(1e3 * (time.perf_counter() - start))
    processor = 1e3 * (time.process_time() - processor) / len(wall)
    print(json.dumps({"wall_ms": float(np.median(wall)), "cpu_ms": processor, "cold_ms": 1e3 * cold}), flush=True)
    # Some runtimes end in a crash when Python takes them apart.
    os._exit(0)


main()
