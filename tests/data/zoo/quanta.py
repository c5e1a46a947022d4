"""How many 8-bit integers differ between texpool and the runtime for which a network was quantised.

    texpool models fetch all
    pip install ai-edge-litert==2.3.0 onnx onnxruntime==1.32.0 numpy==2.4.6 pillow
    python tests/data/zoo/quanta.py CACHE_FOLDER TEXPOOL

The catalogue's Inception v3 is a `.tflite` file of 8 bits. LiteRT answers with XNNPACK, which it takes by default, and with
its reference kernels; texpool answers in the arithmetic of each (`--fake-quant on` and `reference`). Other networks are
quantised by ONNX Runtime's tools, calibrated with parts of the catalogue's pictures, as operators of integers and as
operators of floats between `QuantizeLinear` and `DequantizeLinear`. Every tensor of 8 bits is compared.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from PIL import Image

CROPS = [("coffee", 180, 60), ("coffee", 0, 0), ("coffee", 300, 100), ("astronaut", 0, 0), ("astronaut", 100, 0),
         ("astronaut", 213, 213), ("chelsea", 0, 0), ("chelsea", 100, 0), ("chelsea", 152, 1)]
# Files of the cache, heights and widths.
NETWORKS = {"mobilenet_v2": ("mobilenet_v2", 224, 224), "resnet18": ("resnet18", 224, 224), "u2netp": ("u2netp", 320, 320),
            "ppocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer", 48, 192), "ppocr_rec": ("ch_PP-OCRv4_rec_infer", 48, 320),
            "ppocr_det": ("ch_PP-OCRv4_det_infer", 320, 320)}
INTEGERS = (onnx.TensorProto.UINT8, onnx.TensorProto.INT8)


def crop(cache, place, size):
    name, left, top = place
    whole = np.asarray(Image.open(cache / f"{name}.png").convert("RGB"))
    return np.ascontiguousarray(whole[None, top : top + size, left : left + size])


def by_texpool(texpool, model, picture, *arguments):
    """The outputs in the model's order."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", picture)
        run = [texpool, "run", str(model), "--input", f"{folder}/in.npy", "--output", f"{folder}/out", *arguments]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        # Names of several files begin with the number of the output.
        files = sorted(pathlib.Path(folder, "out").glob("*.npy"), key=lambda path: (len(path.name.split("_")[0]), path.name))
        return [np.load(path) for path in files]


def by_litert(model, picture, resolver):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).astype(int).ravel()


def inception(cache, texpool):
    model = cache / "inception_v3_quant.tflite"
    quantum, origin = Interpreter(str(model)).get_output_details()[0]["quantization"]
    print("inception_v3: integers of 1001 that differ\n| picture | XNNPACK | reference kernels | the two |")
    for place in CROPS:
        picture = crop(cache, place, 299)
        theirs, ours = [], []
        for resolver, arithmetic in ((OpResolverType.AUTO, "on"), (OpResolverType.BUILTIN_REF, "reference")):
            theirs.append(by_litert(model, picture, resolver))
            answer = by_texpool(texpool, model, picture, "--fake-quant", arithmetic)
            ours.append(np.rint(answer[0].ravel() / quantum + origin).astype(int))
        counts = [(a != b).sum() for a, b in ((ours[0], theirs[0]), (ours[1], theirs[1]), theirs)]
        print(f"| {place[0]} {place[1]}, {place[2]} | {' | '.join(map(str, counts))} |", flush=True)


class Pictures(CalibrationDataReader):
    def __init__(self, name, pictures):
        self.left = iter([{name: picture} for picture in pictures])

    def get_next(self):
        return next(self.left, None)


def quantised(cache, name, folder, form):
    """The network with every 8-bit tensor as an output, and the pictures for it."""
    file, height, width = NETWORKS[name]
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    resized = lambda picture: np.asarray(Image.fromarray(picture[0]).resize((width, height), Image.BILINEAR))[None]
    pictures = [(resized(crop(cache, place, 224)) / 255.0 - mean) / deviation for place in CROPS]
    pictures = [picture.transpose(0, 3, 1, 2).astype(np.float32) for picture in pictures]
    model = onnx.load(cache / f"{file}.onnx")
    stored = {value.name for value in model.graph.initializer}
    entry = next(value for value in model.graph.input if value.name not in stored)
    for dim, extent in zip(entry.type.tensor_type.shape.dim, (1, 3, height, width)):
        dim.dim_value = extent
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    if next(known.version for known in model.opset_import if known.domain in ("", "ai.onnx")) < 13:
        model = onnx.version_converter.convert_version(model, 13)
    onnx.save(model, f"{folder}/float.onnx")
    # Normalisations become part of the convolutions before them, as ONNX Runtime advises before quantising.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = f"{folder}/folded.onnx"
    onnxruntime.InferenceSession(f"{folder}/float.onnx", options, providers=["CPUExecutionProvider"])
    quantize_static(f"{folder}/folded.onnx", f"{folder}/8.onnx", Pictures(entry.name, pictures[::2]), quant_format=form,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
    model = onnx.load(f"{folder}/8.onnx")
    resizes = lambda node: node.op_type == "Resize" and form == QuantFormat.QOperator
    makes_integers = lambda node: (node.op_type.startswith("QLinear") or node.op_type in ("QuantizeLinear", "QGemm")
                                   or resizes(node))
    stored = {value.name for value in model.graph.initializer}
    names = [node.output[0] for node in model.graph.node if makes_integers(node) and node.input[0] not in stored]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, INTEGERS[0], None) for name in names)
    onnx.save(model, f"{folder}/all.onnx")
    return pathlib.Path(folder, "all.onnx"), names, entry.name, pictures


def network(cache, texpool, name):
    for form in (QuantFormat.QOperator, QuantFormat.QDQ):
        with tempfile.TemporaryDirectory() as folder:
            model, names, entry, pictures = quantised(cache, name, folder, form)
            session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
            for place, picture in list(zip(CROPS, pictures))[1::3]:
                theirs = session.run(names, {entry: picture})
                ours = by_texpool(texpool, model, picture)[-len(names):]
                total, apart = sum(y.size for y in theirs), sum((a != b).sum() for a, b in zip(ours, theirs))
                print(f"| {name} {form.name} | {place[0]} {place[1]}, {place[2]} | {apart} of {total} |", flush=True)


def main(cache, texpool):
    inception(cache, texpool)
    print("integers that differ from ONNX Runtime's\n| network | picture | all 8-bit tensors |")
    for name in NETWORKS:
        network(cache, texpool, name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
