"""Makes what the networks of the catalogue answer to parts of real pictures, by runtimes that are not ours.

    texpool models fetch all
    pip install onnxruntime==1.31.1 ai-edge-litert==2.3.0 mediapipe==0.10.14 numpy==2.4.6 pillow
    python models/make.py ...   (mobilenet_v2, efficientnet_lite0, resnet18 and mobilebert, into the cache as NAME.onnx)
    python tests/data/zoo/make.py CACHE_FOLDER [NAME ...]

An input is a part of a picture as it is, without resizing, so that the test cuts out the very same bytes. Of an output
with more than 4096 values every n-th is kept. Two CPU runs differ by what `two_runtimes` says: onnxruntime without and
with its optimisations, LiteRT's reference kernels and XNNPACK. Where a network has custom operators of MediaPipe, the
runs are of MediaPipe's own runtime, with LiteRT's kernels and with XNNPACK beside its own. (The reference evaluator of `onnx` 1.22 is no third: on
MobileNet v2 it is off by 12 where the others agree to 1e-5.)
"""
import json
import math
import pathlib
import sys

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
KEPT = 4096
UNIT = {"divide": 255.0}
SIGNED = {"divide": 127.5, "subtract": [1.0] * 3}
IMAGENET = {"divide": 255.0, "subtract": [0.485, 0.456, 0.406], "deviate": [0.229, 0.224, 0.225]}
OCR = {"divide": 255.0, "subtract": [0.5] * 3, "deviate": [0.5] * 3}
RAW = {"divide": 1.0}


def picture(name, left, top, width, height, scale, order="NCHW"):
    return {"picture": name, "crop": [left, top, width, height], "order": order, **scale}


CUP = (220, 100, 224, 224)
FACE = (112, 0, 224, 224)
LITE = {"divide": 1.0, "subtract": [127.0] * 3, "deviate": [128.0] * 3}


def tflite(size, scale, left=150, top=10):
    height, width = size if isinstance(size, tuple) else (size, size)
    return {"": picture("astronaut", left, top, width, height, scale, "NHWC")}


def faces(count, size):
    crops = [[180 + 9 * i, 40 + 12 * i, size, size] for i in range(count)]
    return {"picture": "astronaut", "crops": crops, "order": "NHWC", "divide": 128.0, "subtract": [127.5 / 128] * 3}


# "Pools of textures are small." and "A cat sat.", as the ids of BERT's uncased vocabulary; the second one is padded.
SENTENCES = [[101, 12679, 1997, 29343, 2024, 2235, 1012, 102], [101, 1037, 4937, 2938, 1012, 102, 0, 0]]

CASES = {
    "mobilenet_v2": ("mobilenet_v2.onnx", {"input": picture("coffee", *CUP, IMAGENET)}, {}),
    "efficientnet_lite0": ("efficientnet_lite0.onnx", {"input": picture("coffee", *CUP, LITE)}, {}),
    "resnet18": ("resnet18.onnx", {"input": picture("coffee", *CUP, IMAGENET)}, {}),
    "blazeface_onnx_front": (
        "face_detection_front_128x128_barracuda.onnx",
        {"input:0": picture("astronaut", 160, 40, 128, 128, SIGNED, "NHWC")}, {}),
    "blazeface_onnx_back": (
        "face_detection_back_256x256_barracuda.onnx",
        {"input:0": picture("astronaut", 96, 0, 256, 256, SIGNED, "NHWC")}, {}),
    "retinaface": ("retinaface_mnet25.onnx", {"data": picture("astronaut", 0, 0, 512, 512, RAW)}, {}),
    "u2netp": ("u2netp.onnx", {"input.1": picture("astronaut", 80, 0, 320, 320, IMAGENET)}, {}),
    "centerface": (
        "centerface.onnx",
        {"input.1": {"picture": "astronaut", "crops": [[170 + 8 * i, 60 + 8 * i, 32, 32] for i in range(10)],
                     "order": "NCHW", **RAW}}, {}),
    "ppocr_det": (
        "ch_PP-OCRv4_det_infer.onnx", {"x": picture("page", 0, 0, 384, 160, IMAGENET)},
        {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 160, "p2o.DynamicDimension.2": 384}),
    "ppocr_rec": (
        "ch_PP-OCRv4_rec_infer.onnx", {"x": picture("page", 0, 0, 320, 48, OCR)},
        {"p2o.DynamicDimension.0": 1, "x:2": 48, "p2o.DynamicDimension.1": 320}),
    "ppocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": picture("page", 0, 0, 192, 48, OCR)},
        {"x:0": 1, "x:2": 48, "x:3": 192}),
    "mtcnn_pnet": (
        "mtcnn_pnet.onnx", {"input_1": picture("astronaut", 140, 30, 160, 120, {"divide": 128.0, "subtract": [127.5 / 128] * 3}, "NHWC")},
        {"N": 1, "M1": 120, "M2": 160}),
    "mtcnn_rnet": ("mtcnn_rnet.onnx", {"input_2": faces(3, 24)}, {"N": 3}),
    "mtcnn_onet": ("mtcnn_onet.onnx", {"input_3": faces(3, 48)}, {"N": 3}),
    "minilm": (
        "paraphrase-MiniLM-L3-v2.onnx",
        {"input_ids": {"values": SENTENCES}, "attention_mask": {"values": [[int(i > 0) for i in s] for s in SENTENCES]}},
        {"batch_size": 2, "sequence_length": 8}),
    "mobilebert": (
        "mobilebert.onnx",
        {"input_ids": {"values": SENTENCES[1:]}, "attention_mask": {"values": [[int(i > 0) for i in SENTENCES[1]]]},
         "token_type_ids": {"values": [[int(at > 2) for at in range(8)]]}},
        {"tokens": 8}),
    **{
        f"light_{name}": (f"light_{name}.onnx", {input: picture("coffee", *CUP, UNIT)}, {})
        for name, input in (
            ("bvlc_alexnet", "data_0"), ("densenet121", "data_0"), ("inception_v1", "data_0"), ("inception_v2", "data_0"),
            ("resnet50", "gpu_0/data_0"), ("shufflenet", "gpu_0/data_0"), ("squeezenet", "data_0"), ("vgg19", "data_0"),
            ("zfnet512", "gpu_0/data_0"))
    },
    "tiny_yolo_v2": ("yolov2_tiny.tflite", tflite(416, UNIT, 48, 0), {}),
    "inception_v3": ("inception_v3_quant.tflite", {"": picture("coffee", 180, 60, 299, 299, {"divide": 128.0, "subtract": [1.0] * 3}, "NHWC")}, {}),
    "face_detection_full_range": ("face_detection_full_range_sparse.tflite", tflite(192, SIGNED), {}),
    "face_landmark_with_attention": ("face_landmark_with_attention.tflite", tflite(192, UNIT, 128, 12), {}),
    "hand_landmark_full": ("hand_landmark_full.tflite", tflite(224, UNIT), {}),
    "hand_landmark_lite": ("hand_landmark_lite.tflite", tflite(224, UNIT), {}),
    "hand_recrop": ("hand_recrop.tflite", tflite(256, UNIT), {}),
    "iris_landmark": ("iris_landmark.tflite", tflite(64, UNIT, 200, 90), {}),
    "palm_detection_full": ("palm_detection_full.tflite", tflite(192, UNIT), {}),
    "palm_detection_lite": ("palm_detection_lite.tflite", tflite(192, UNIT), {}),
    "pose_detection": ("pose_detection.tflite", tflite(224, SIGNED), {}),
    "pose_landmark_full": ("pose_landmark_full.tflite", tflite(256, UNIT, 100, 0), {}),
}


def value(cache, facts):
    if "values" in facts:
        return np.array(facts["values"], np.int64)
    image = np.asarray(Image.open(cache / f"{facts['picture']}.png").convert("RGB"))
    parts = [image[t : t + h, l : l + w] for l, t, w, h in facts.get("crops", [facts.get("crop")])]
    x = np.stack(parts).astype(np.float32) / np.float32(facts["divide"])
    x = x - np.array(facts.get("subtract", [0] * 3), np.float32)
    x = x / np.array(facts.get("deviate", [1] * 3), np.float32)
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if facts["order"] == "NCHW" else x


def by_onnx(path, feeds):
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    runs = []
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 4
        session = ort.InferenceSession(str(path), options)
        runs.append(session.run(None, feeds))
    return [output.name for output in session.get_outputs()], runs, [None] * len(runs[0])


def by_litert(path, feeds):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    runs = []
    for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.AUTO):
        interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver, num_threads=1)
        interpreter.allocate_tensors()
        entry = interpreter.get_input_details()[0]
        x = feeds[""]
        if entry["dtype"] != np.float32:
            scale, zero = entry["quantization"]
            x = np.round(x / np.float32(scale) + zero).astype(entry["dtype"])
        interpreter.set_tensor(entry["index"], x)
        interpreter.invoke()
        outputs = interpreter.get_output_details()
        quanta = [None if o["dtype"] == np.float32 else float(o["quantization"][0]) for o in outputs]
        values = []
        for output in outputs:
            y = interpreter.get_tensor(output["index"])
            if y.dtype != np.float32:
                scale, zero = output["quantization"]
                y = (y.astype(np.float32) - np.float32(zero)) * np.float32(scale)
            values.append(y)
        runs.append(values)
    return [output["name"] for output in outputs], runs, quanta


# A graph of MediaPipe for one picture, which becomes numbers from 0 to 1.
MEDIAPIPE = """
input_stream: "picture"
%(streams)s
node { calculator: "ImageToTensorCalculator" input_stream: "IMAGE:picture" output_stream: "TENSORS:numbers"
  options: { [mediapipe.ImageToTensorCalculatorOptions.ext] {
    output_tensor_width: %(width)d output_tensor_height: %(height)d output_tensor_float_range { min: 0 max: 1 } } } }
node { calculator: "TfLiteCustomOpResolverCalculator" output_side_packet: "OP_RESOLVER:resolver" }
node { calculator: "InferenceCalculator" input_stream: "TENSORS:numbers" input_side_packet: "OP_RESOLVER:resolver"
  output_stream: "TENSORS:answers"
  options: { [mediapipe.InferenceCalculatorOptions.ext] { model_path: "%(path)s" delegate { %(kernels)s {} } } } }
node { calculator: "SplitTensorVectorCalculator" input_stream: "answers" %(parts)s
  options: { [mediapipe.SplitVectorCalculatorOptions.ext] { %(ranges)s } } }
%(floats)s
"""


def by_mediapipe(path, feeds):
    from ai_edge_litert.interpreter import Interpreter
    from mediapipe.python import packet_creator, packet_getter
    from mediapipe.python._framework_bindings import calculator_graph, image_frame

    outputs = Interpreter(str(path)).get_output_details()
    numbers = range(len(outputs))
    pixels = np.round(feeds[""][0] * 255).astype(np.uint8)
    each = lambda text: " ".join(text % ((i,) * text.count("%")) for i in numbers)
    runs = []
    for kernels in ("tflite", "xnnpack"):
        graph = calculator_graph.CalculatorGraph(graph_config=MEDIAPIPE % {
            "path": path, "kernels": kernels, "height": pixels.shape[0], "width": pixels.shape[1],
            "streams": each('output_stream: "values%d"'), "parts": each('output_stream: "part%d"'),
            "ranges": " ".join(f"ranges: {{ begin: {i} end: {i + 1} }}" for i in numbers),
            "floats": each('node { calculator: "TensorsToFloatsCalculator" input_stream: "TENSORS:part%d"'
                           ' output_stream: "FLOATS:values%d" }')})
        found = {}
        for i in numbers:
            keep = lambda name, packet: found.update({name: packet_getter.get_float_list(packet)})
            graph.observe_output_stream(f"values{i}", keep)
        graph.start_run()
        frame = image_frame.ImageFrame(image_format=image_frame.ImageFormat.SRGB, data=pixels)
        graph.add_packet_to_input_stream("picture", packet_creator.create_image_frame(frame).at(0))
        graph.close_all_packet_sources()
        graph.wait_until_done()
        shapes = [output["shape"] for output in outputs]
        runs.append([np.array(found[f"values{i}"], np.float32).reshape(shapes[i]) for i in numbers])
    return [output["name"] for output in outputs], runs, [None] * len(outputs)


#: Networks that LiteRT alone does not run.
OF_MEDIAPIPE = {"face_landmark_with_attention"}


def main(cache, wanted):
    manifest_path = HERE / "manifest.json"
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
    for name, (file, inputs, dims) in CASES.items():
        if wanted and name not in wanted:
            continue
        feeds = {key: value(cache, facts) for key, facts in inputs.items()}
        path = cache / file
        runtime = by_onnx if path.suffix == ".onnx" else by_mediapipe if name in OF_MEDIAPIPE else by_litert
        names, runs, quanta = runtime(path, feeds)
        kept, outputs = [], []
        for i, output in enumerate(names):
            y = np.asarray(runs[0][i], np.float32)
            every = math.ceil(y.size / KEPT)
            every += every % 2 == 0 and every > 1  # an odd step meets every channel
            apart = max(float(np.abs(np.asarray(run[i], np.float32) - y).max()) for run in runs[1:])
            outputs.append({"name": output, "dims": list(y.shape), "every": every,
                            "max_abs": float(np.abs(y).max()), "two_runtimes": apart})
            if quanta[i] is not None:
                outputs[-1]["quantum"] = quanta[i]
            kept.append(y.reshape(-1)[::every])
        np.save(HERE / f"{name}.npy", np.concatenate(kept))
        manifest[name] = {"file": file, "dims": dims, "inputs": inputs, "outputs": outputs}
        print(name, [(o["name"], o["dims"], o["max_abs"], o["two_runtimes"]) for o in outputs][:3], flush=True)
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
