"""Makes the goldens of a photo that no one tuned anything on: chelsea.png (CC0) of PyPI scikit-image 0.26.0.

    pip install ai-edge-litert==2.3.0 scikit-image==0.26.0 pillow numpy
    python make.py FOLDER_OF_MODELS
"""
import json
import pathlib
import sys

import numpy as np
import skimage
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from PIL import Image

MODELS = {
    "chelsea_blazeface": ("face_detection_short_range.tflite", 128, "float32(u8)/127.5 - 1.0, NHWC, RGB"),
    "chelsea_mobilenet_v1": ("mobilenet_v1_1.0_224.tflite", 224, "float32(u8)/127.5 - 1.0, NHWC, RGB"),
    "chelsea_face_landmark": ("face_landmark.tflite", 192, "float32(u8)/255.0, NHWC, RGB"),
}


def run(path, x, resolver):
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [(d["name"], interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]


here = pathlib.Path(__file__).parent
manifest = json.loads((here / "manifest.json").read_text())
photo = Image.open(pathlib.Path(skimage.__file__).parent / "data/chelsea.png").convert("RGB").crop((75, 0, 375, 300))
for name, (model, size, preprocessing) in MODELS.items():
    path = pathlib.Path(sys.argv[1]) / model
    u8 = np.asarray(photo.resize((size, size), Image.BILINEAR))[None]
    x = u8.astype(np.float32)
    x = x / np.float32(255) if "255" in preprocessing else x / np.float32(127.5) - np.float32(1)
    reference = run(path, x, OpResolverType.BUILTIN_REF)
    other = dict(run(path, x, OpResolverType.AUTO))
    folder = here / name
    folder.mkdir(exist_ok=True)
    np.save(folder / "input_u8.npy", u8)
    outputs = {}
    for tensor, value in reference:
        np.save(folder / f"out_{tensor.replace('/', '_')}.npy", value)
        outputs[tensor] = {
            "max_abs": float(np.abs(value).max()),
            "ref_vs_xnnpack_max_abs_diff": float(np.abs(value - other[tensor]).max()),
        }
    manifest["goldens"][name] = {"model_file": model, "preprocessing": preprocessing, "outputs": outputs}
(here / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
