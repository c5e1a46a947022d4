"""Networks of which no package carries a `.tflite` file, as topologies with random weights from a seed: MobileNet v2
(arXiv:1801.04381, table 2), SqueezeNet 1.1 (arXiv:1602.07360, and its authors' repository), ResNet-18
(arXiv:1512.03385, table 1)."""

from collections.abc import Callable

import numpy as np

from tiny import ADD, ADD_OPTIONS, CONV_2D, Model

CONCATENATION, DEPTHWISE_CONV_2D, MAX_POOL_2D, SOFTMAX, MEAN = 2, 4, 17, 25, 40
SAME, VALID = 0, 1
NONE, RELU, RELU6 = 0, 1, 3


class Network:
    """A network being put together, of one tensor after another."""

    def __init__(self, size: int) -> None:
        self.model = Model()
        self.random = np.random.default_rng(5)
        self.shape_of: dict[int, tuple[int, int, int]] = {}
        self.count = 0
        self.input = self.tensor((size, size, 3))

    def tensor(self, shape: tuple[int, int, int]) -> int:
        number = self.model.tensor(f"t{self.count}", (1, *shape))
        self.count += 1
        self.shape_of[number] = shape
        return number

    def window(self, x: int, channels: int, window: int, stride: int, padding: int) -> int:
        height, width, _ = self.shape_of[x]
        cut = window - 1 if padding == VALID else 0
        return self.tensor((-(-(height - cut) // stride), -(-(width - cut) // stride), channels))

    def weights(self, shape: tuple[int, int, int, int], inputs: int, channels: int) -> tuple[int, int]:
        """Weights that keep the size of values, and biases."""
        self.count += 1
        values = self.random.normal(0, (2 / inputs) ** 0.5, shape).astype(np.float32)
        biases = self.random.normal(0, 0.1, channels).astype(np.float32)
        return self.model.constant(f"w{self.count}", values), self.model.constant(f"b{self.count}", biases)

    def conv(
        self, x: int, channels: int, window: int = 1, stride: int = 1, act: int = RELU, padding: int = SAME
    ) -> int:
        deep = self.shape_of[x][2]
        weights, biases = self.weights((channels, window, window, deep), window * window * deep, channels)
        y = self.window(x, channels, window, stride, padding)
        options = {4: ("i8", padding), 6: ("i32", stride), 8: ("i32", stride), 10: ("i8", act)}
        options |= {12: ("i32", 1), 14: ("i32", 1)}
        self.model.op(CONV_2D, [x, weights, biases], [y], (1, options))
        return y

    def depthwise(self, x: int, stride: int) -> int:
        deep = self.shape_of[x][2]
        weights, biases = self.weights((1, 3, 3, deep), 9, deep)
        y = self.window(x, deep, 3, stride, SAME)
        options = {4: ("i8", SAME), 6: ("i32", stride), 8: ("i32", stride), 10: ("i32", 1), 12: ("i8", RELU6)}
        options |= {14: ("i32", 1), 16: ("i32", 1)}
        self.model.op(DEPTHWISE_CONV_2D, [x, weights, biases], [y], (2, options))
        return y

    def pool(self, x: int, padding: int) -> int:
        window, stride = 3, 2
        y = self.window(x, self.shape_of[x][2], window, stride, padding)
        options = {4: ("i8", padding), 6: ("i32", stride), 8: ("i32", stride), 10: ("i32", window), 12: ("i32", window)}
        self.model.op(MAX_POOL_2D, [x], [y], (5, options | {14: ("i8", NONE)}))
        return y

    def add(self, a: int, b: int, act: int = NONE) -> int:
        y = self.tensor(self.shape_of[a])
        self.model.op(ADD, [a, b], [y], (ADD_OPTIONS[0], {4: ("i8", act)}))
        return y

    def beside(self, a: int, b: int) -> int:
        height, width, channels = self.shape_of[a]
        y = self.tensor((height, width, channels + self.shape_of[b][2]))
        self.model.op(CONCATENATION, [a, b], [y], (10, {4: ("i32", 3), 6: ("i8", NONE)}))
        return y

    def end(self, x: int) -> bytes:
        """With the mean over height and width, and a softmax."""
        channels = self.shape_of[x][2]
        axes = self.model.constant("axes", np.array([1, 2], np.int32))
        mean, y = (self.model.tensor(name, (1, channels)) for name in ("mean", "scores"))
        self.model.op(MEAN, [x, axes], [mean], (27, {4: ("i8", 0)}))
        self.model.op(SOFTMAX, [mean], [y], (9, {4: ("f32", 1.0)}))
        return self.model.bytes([self.input], [y])


def mobilenet_v2() -> bytes:
    net = Network(224)
    x = net.conv(net.input, 32, 3, 2, RELU6)
    for expansion, channels, blocks, first in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):
        for block in range(blocks):
            stride = first if block == 0 else 1
            wide = net.conv(x, expansion * net.shape_of[x][2], act=RELU6) if expansion > 1 else x
            narrow = net.conv(net.depthwise(wide, stride), channels, act=NONE)
            x = net.add(narrow, x) if stride == 1 and net.shape_of[x][2] == channels else narrow
    return net.end(net.conv(net.conv(x, 1280, act=RELU6), 1000, act=NONE))


def squeezenet() -> bytes:
    net = Network(224)
    x = net.pool(net.conv(net.input, 64, 3, 2, padding=VALID), VALID)
    for squeeze, expand, pooled in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1), (48, 192, 0), (48, 192, 0),
                                    (64, 256, 0), (64, 256, 0)):
        narrow = net.conv(x, squeeze)
        x = net.beside(net.conv(narrow, expand), net.conv(narrow, expand, 3))
        if pooled:
            x = net.pool(x, VALID)
    return net.end(net.conv(x, 1000))


def resnet18() -> bytes:
    net = Network(224)
    x = net.pool(net.conv(net.input, 64, 7, 2), SAME)
    for channels, first in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first, 1):
            inner = net.conv(net.conv(x, channels, 3, stride), channels, 3, act=NONE)
            past = x if stride == 1 and net.shape_of[x][2] == channels else net.conv(x, channels, 1, stride, NONE)
            x = net.add(inner, past, RELU)
    return net.end(net.conv(x, 1000, act=NONE))


#: The models, each with its number of nodes.
TOPOLOGIES: dict[str, tuple[Callable[[], bytes], int]] = {
    "mobilenet_v2": (mobilenet_v2, 65), "squeezenet": (squeezenet, 39), "resnet18": (resnet18, 32),
}
