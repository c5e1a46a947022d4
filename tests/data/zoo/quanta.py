"""How far texpool's answers are from LiteRT's on the 8-bit file of the catalogue, in quanta of its output.

    texpool models fetch inception_v3 (and coffee, astronaut, chelsea)
    pip install ai-edge-litert==2.3.0 numpy==2.4.6 pillow
    python tests/data/zoo/quanta.py CACHE_FOLDER TEXPOOL [ARGUMENT ...]

Parts of the catalogue's pictures go in as bytes. LiteRT answers twice: by its reference kernels, and by XNNPACK, which it
takes by default. TEXPOOL is the command, ARGUMENT what it is to be run with (`--fake-quant off`).
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from PIL import Image

SIZE = 299
CROPS = [("coffee", 180, 60), ("coffee", 0, 0), ("coffee", 300, 100), ("astronaut", 0, 0), ("astronaut", 100, 0),
         ("astronaut", 213, 213), ("chelsea", 0, 0), ("chelsea", 100, 0), ("chelsea", 152, 1)]


def by_litert(model, picture, resolver):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).astype(int).ravel()


def main(cache, texpool, arguments):
    model = cache / "inception_v3_quant.tflite"
    interpreter = Interpreter(str(model))
    scale, zero = interpreter.get_input_details()[0]["quantization"]
    quantum, origin = interpreter.get_output_details()[0]["quantization"]
    print("| picture | texpool, reference | texpool, XNNPACK | reference, XNNPACK | first label |")
    for name, left, top in CROPS:
        whole = np.asarray(Image.open(cache / f"{name}.png").convert("RGB"))
        picture = np.ascontiguousarray(whole[None, top : top + SIZE, left : left + SIZE])
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/in.npy", (picture.astype(np.float32) - zero) * np.float32(scale))
            run = [texpool, "run", str(model), "--input", f"{folder}/in.npy", "--output", f"{folder}/out", *arguments]
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
            ours = np.load(next(pathlib.Path(folder, "out").glob("*.npy"))).ravel() / quantum + origin
        reference = by_litert(model, picture, OpResolverType.BUILTIN_REF)
        xnnpack = by_litert(model, picture, OpResolverType.AUTO)
        cells = [f"{np.abs(a - b).max():.1f}, {np.abs(a - b).mean():.2f}"
                 for a, b in ((ours, reference), (ours, xnnpack), (reference, xnnpack))]
        same = len({int(a.argmax()) for a in (ours, reference, xnnpack)}) == 1
        print(f"| {name} {left}, {top} | {' | '.join(cells)} | {'the same' if same else 'another'} |")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
