"""Writes small `.tflite` files.

Slots are places in the tables of TensorFlow Lite's schema (`tflite/converter/schema/schema.fbs`): 4 for a table's first
field, 6 for its second, and so on.
"""

import struct
from collections.abc import Sequence

import flatbuffers
import numpy as np
from flatbuffers import flexbuffers

#: Element types, by their number in the schema.
FLOAT32, FLOAT16, INT32, BOOL, INT8, RESOURCE = 0, 1, 2, 6, 9, 13
_TYPES = {np.dtype(np.float32): FLOAT32, np.dtype(np.float16): FLOAT16, np.dtype(np.int32): INT32, np.dtype(np.int8): INT8}

ADD, CONCATENATION, CONV_2D, DEQUANTIZE, MUL, RESHAPE, CUSTOM = 0, 2, 3, 6, 18, 22, 32
MEAN, ARG_MAX, SLICE, TILE = 40, 56, 65, 69
ABS, REVERSE_SEQUENCE, IF, CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE = 101, 112, 118, 129, 142, 143, 144

#: Value of a table's field: its kind, and the value.
Field = tuple[str, object]
Table = dict[int, Field]


def _below(builder: flatbuffers.Builder, kind: str, value: object) -> int:
    if kind == "text":
        return builder.CreateString(value)
    if kind == "table":
        return _write(builder, value)
    if kind == "bytes":
        return builder.CreateByteVector(value)
    if kind == "tables":
        offsets = [_write(builder, table) for table in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    of_kind = {"ints": np.int32, "longs": np.int64, "floats": np.float32}[kind]
    return builder.CreateNumpyVector(np.asarray(value, of_kind))


def _write(builder: flatbuffers.Builder, table: Table) -> int:
    scalars = {"i8": builder.PrependInt8Slot, "i32": builder.PrependInt32Slot, "f32": builder.PrependFloat32Slot}
    below = {slot: _below(builder, *field) for slot, field in table.items() if field[0] not in scalars}
    builder.StartObject((max(table, default=2) - 2) // 2)
    for slot, (kind, value) in table.items():
        if slot in below:
            builder.PrependUOffsetTRelativeSlot((slot - 4) // 2, below[slot], 0)
        else:
            scalars[kind]((slot - 4) // 2, value, 0)
    return builder.EndObject()


class Model:
    """A model being put together; what adds a tensor gives its number."""

    def __init__(self) -> None:
        # Buffer 0 is for tensors without values.
        self._tensors: list[Table] = []
        self._buffers: list[Table] = [{}]
        self._operators: list[Table] = []
        self._codes: list[Table] = []
        self._graphs: list[Table] = []

    def tensor(self, name: str, extents: Sequence[int], dtype: int = FLOAT32, signature: Sequence[int] = ()) -> int:
        return self._add(name, extents, dtype, 0, signature)

    def constant(self, name: str, values: np.ndarray) -> int:
        self._buffers.append({4: ("bytes", values.tobytes())})
        return self._add(name, values.shape, _TYPES[values.dtype], len(self._buffers) - 1)

    def _add(self, name: str, extents: Sequence[int], dtype: int, buffer: int, signature: Sequence[int] = ()) -> int:
        table: Table = {4: ("ints", extents), 6: ("i8", dtype), 8: ("i32", buffer), 10: ("text", name)}
        if signature:
            table[18] = ("ints", signature)
        self._tensors.append(table)
        return len(self._tensors) - 1

    def scaled(self, tensor: int, scale: float, zero: int) -> int:
        """Says what a tensor's integers stand for."""
        self._tensors[tensor][12] = ("table", {8: ("floats", [scale]), 10: ("longs", [zero])})
        return tensor

    def op(self, code: int, inputs: Sequence[int], outputs: Sequence[int], options: tuple[int, Table] | None = None,
           custom: tuple[str, bytes] | None = None) -> None:
        self._codes.append({4: ("i8", min(code, 127)), 10: ("i32", code), 8: ("i32", 1)})
        operator: Table = {4: ("i32", len(self._codes) - 1), 6: ("ints", inputs), 8: ("ints", outputs)}
        if options:
            operator |= {10: ("i8", options[0]), 12: ("table", options[1])}
        if custom:
            self._codes[-1][6] = ("text", custom[0])
            operator[14] = ("bytes", custom[1])
        self._operators.append(operator)

    def call_once(self, graph: int) -> None:
        self.op(CALL_ONCE, [], [], (103, {4: ("i32", graph)}))

    def variable(self, name: str) -> int:
        """A tensor that stands for a variable."""
        handle = self.tensor(name, (), RESOURCE)
        self.op(VAR_HANDLE, [], [handle], (111, {6: ("text", name)}))
        return handle

    def read(self, handle: int, name: str, extents: Sequence[int], dtype: int = FLOAT32) -> int:
        value = self.tensor(name, extents, dtype)
        self.op(READ_VARIABLE, [handle], [value])
        return value

    def assign(self, handle: int, value: int) -> None:
        self.op(ASSIGN_VARIABLE, [handle, value], [])

    def graph(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Ends a graph, and begins another."""
        self._graphs.append({
            4: ("tables", self._tensors), 6: ("ints", inputs), 8: ("ints", outputs), 10: ("tables", self._operators),
        })
        self._tensors, self._operators = [], []

    def bytes(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file, of which these are the ends of the last graph."""
        self.graph(inputs, outputs)
        root: Table = {
            4: ("i32", 3), 6: ("tables", self._codes), 8: ("tables", self._graphs), 12: ("tables", self._buffers),
        }
        builder = flatbuffers.Builder()
        builder.ForceDefaults(True)
        builder.Finish(_write(builder, root), file_identifier=b"TFL3")
        return bytes(builder.Output())


#: Options of ADD and MUL without an activation.
ADD_OPTIONS, MUL_OPTIONS = (11, {4: ("i8", 0)}), (21, {4: ("i8", 0)})


def supported(extents: Sequence[int] = (1, 4, 4, 3), signature: Sequence[int] = ()) -> bytes:
    """|x| + 1, all of it supported."""
    model = Model()
    x, y, z = (model.tensor(name, extents, FLOAT32, signature) for name in ("x", "y", "z"))
    one = model.constant("one", np.ones(1, np.float32))
    model.op(ABS, [x], [y])
    model.op(ADD, [y, one], [z], ADD_OPTIONS)
    return model.bytes([x], [z])


def reversed_along(axis: int, lengths_of: int = 0) -> tuple[int, Table]:
    """Options of REVERSE_SEQUENCE along an axis, with a length for each entry of another axis."""
    return 87, {4: ("i32", axis), 6: ("i32", lengths_of)}


def split(extents: Sequence[int] = (1, 4, 4, 3), signature: Sequence[int] = ()) -> bytes:
    """|x| reversed along the last axis, times 2: the middle is not supported."""
    model = Model()
    x, y, reversed_, z = (model.tensor(name, extents, FLOAT32, signature) for name in ("x", "y", "reversed", "z"))
    lengths = model.constant("lengths", np.full(extents[1], extents[-1], np.int32))
    two = model.constant("two", np.full(1, 2, np.float32))
    model.op(ABS, [x], [y])
    model.op(REVERSE_SEQUENCE, [y, lengths], [reversed_], reversed_along(len(extents) - 1, 1))
    model.op(MUL, [reversed_, two], [z], MUL_OPTIONS)
    return model.bytes([x], [z])


def constants() -> bytes:
    """(reversed(x + c) * c) + reversed(|d|), with c and d of 16 bits: both parts read c, and the runtime reads |d|."""
    model = Model()
    x, sum_, reversed_, product, y, z = (model.tensor(f"t{i}", (1, 3)) for i in range(6))
    half = [model.constant(f"h{i}", np.array([[i + 1, 2, 0.5]], np.float16)) for i in range(2)]
    c, d, e = (model.tensor(name, (1, 3)) for name in "cde")
    row = model.tensor("row", (1, 3))
    for from_, to in zip(half, (c, d)):
        model.op(DEQUANTIZE, [from_], [to])
    model.op(ABS, [d], [e])
    length = model.constant("length", np.array([3], np.int32))
    model.op(ADD, [x, c], [sum_], ADD_OPTIONS)
    model.op(REVERSE_SEQUENCE, [sum_, length], [reversed_], reversed_along(1))
    model.op(MUL, [reversed_, c], [product], MUL_OPTIONS)
    model.op(REVERSE_SEQUENCE, [e, length], [row], reversed_along(1))
    model.op(ADD, [product, row], [y], ADD_OPTIONS)
    model.op(ABS, [y], [z])
    return model.bytes([x], [z])


def many_indices() -> bytes:
    """The place of the greatest of 4000 magnitudes: more places than 16-bit floats tell apart."""
    model = Model()
    x, y = (model.tensor(name, (1, 4000)) for name in "xy")
    place = model.tensor("place", (1,), INT32)
    axis = model.constant("axis", np.array([1], np.int32))
    model.op(ABS, [x], [y])
    model.op(ARG_MAX, [y, axis], [place], (40, {4: ("i8", INT32)}))
    return model.bytes([x], [place])


def squared() -> bytes:
    """The fourth power of x."""
    model = Model()
    x, y, z = (model.tensor(name, (1, 4)) for name in "xyz")
    model.op(MUL, [x, x], [y], MUL_OPTIONS)
    model.op(MUL, [y, y], [z], MUL_OPTIONS)
    return model.bytes([x], [z])


def large() -> bytes:
    """The mean of x repeated to 256 MiB."""
    model = Model()
    x, repeated, z = (model.tensor(name, extents) for name, extents in
                      (("x", (1, 4, 4, 4)), ("repeated", (1, 4096, 4096, 4)), ("z", (1, 1, 1, 4))))
    times = model.constant("times", np.array([1, 1024, 1024, 1], np.int32))
    axes = model.constant("axes", np.array([1, 2], np.int32))
    model.op(TILE, [x, times], [repeated])
    model.op(MEAN, [repeated, axes], [z], (27, {4: ("i8", 1)}))
    return model.bytes([x], [z])


def unsupported() -> bytes:
    """x reversed: nothing of it is supported."""
    model = Model()
    x, y = (model.tensor(name, (1, 6)) for name in "xy")
    length = model.constant("length", np.array([6], np.int32))
    model.op(REVERSE_SEQUENCE, [x, length], [y], reversed_along(1))
    return model.bytes([x], [y])


def dynamic() -> bytes:
    """||x| as the shape that an input says| + 1: the runtime learns the result's extents while it runs."""
    model = Model()
    x, y = (model.tensor(name, (2, 6)) for name in "xy")
    shape = model.tensor("shape", (2,), INT32)
    reshaped, again, z = (model.tensor(name, (2, 6)) for name in ("reshaped", "again", "z"))
    one = model.constant("one", np.ones(1, np.float32))
    model.op(ABS, [x], [y])
    model.op(RESHAPE, [y, shape], [reshaped])
    model.op(ABS, [reshaped], [again])
    model.op(ADD, [again, one], [z], ADD_OPTIONS)
    return model.bytes([x, shape], [z])


def custom() -> bytes:
    """A transposed convolution with a bias, as MediaPipe's models have it, which runtimes themselves do not know."""
    model = Model()
    x, y = model.tensor("x", (1, 2, 2, 1)), model.tensor("y", (1, 4, 4, 1))
    weights = model.constant("weights", np.ones((1, 2, 2, 1), np.float32))
    bias = model.constant("bias", np.full(1, 0.5, np.float32))
    options = struct.pack("<3i", 2, 2, 2)
    model.op(CUSTOM, [x, weights, bias], [y], custom=("Convolution2DTransposeBias", options))
    return model.bytes([x], [y])


def _flex_map(**entries: float | int | list[int]) -> bytes:
    """Options of a custom operator."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in entries.items():
            builder.Key(name)
            if isinstance(value, list):
                builder.TypedVectorFromElements(value)
            else:
                builder.Add(value)
    return bytes(builder.Finish())


def region() -> bytes:
    """A region of a face, its picture and its landmarks, by MediaPipe's operators, which runtimes do not know."""
    model = Model()
    face, image = model.tensor("face", (1, 4, 3)), model.tensor("image", (1, 2, 3, 1))
    results = (("matrix", (1, 4, 4)), ("picture", (1, 2, 3, 1)), ("moved", (1, 4, 3)))
    matrix, picture, moved = (model.tensor(name, extents) for name, extents in results)
    extents = {"output_height": 2, "output_width": 3}
    rotation = {"left_rotation_idx": 0, "right_rotation_idx": 1, "target_rotation_radians": 0.0}
    options = _flex_map(**extents, **rotation, scale_x=1.0, scale_y=1.0, subset_idxs=[0, 1, 2, 3])
    model.op(CUSTOM, [face], [matrix], custom=("Landmarks2TransformMatrix", options))
    model.op(CUSTOM, [image, matrix], [picture], custom=("TransformTensorBilinear", _flex_map(**extents)))
    model.op(CUSTOM, [face, matrix], [moved], custom=("TransformLandmarks", b""))
    return model.bytes([face, image], [matrix, picture, moved])


def quantised() -> bytes:
    """|x| + 1 in 8 bits."""
    model = Model()
    x, y, z = (model.scaled(model.tensor(name, (1, 4, 4, 3), INT8), 0.05, -3) for name in "xyz")
    one = model.scaled(model.constant("one", np.array([17], np.int8)), 0.05, -3)
    model.op(ABS, [x], [y])
    model.op(ADD, [y, one], [z], ADD_OPTIONS)
    return model.bytes([x], [z])


def branches() -> bytes:
    """|x| + 1 if an input is true, else x + x: three graphs."""
    model = Model()
    x, true, y = model.tensor("x", (1, 4)), model.tensor("true", (1,), BOOL), model.tensor("y", (1, 4))
    model.op(IF, [true, x], [y], (92, {4: ("i32", 1), 6: ("i32", 2)}))
    model.graph([x, true], [y])
    x, y, z = (model.tensor(name, (1, 4)) for name in "xyz")
    one = model.constant("one", np.ones(1, np.float32))
    model.op(ABS, [x], [y])
    model.op(ADD, [y, one], [z], ADD_OPTIONS)
    model.graph([x], [z])
    x, y = model.tensor("x", (1, 4)), model.tensor("y", (1, 4))
    model.op(ADD, [x, x], [y], ADD_OPTIONS)
    return model.bytes([x], [y])


def first_value(model: Model, name: str, value: np.ndarray, scale: float = 0) -> None:
    """Gives a variable its first value, in a graph of its own."""
    handle = model.variable(name)
    constant = model.constant(f"first {name}", value)
    model.assign(handle, model.scaled(constant, scale, 0) if scale else constant)


def streaming(dtype: int = FLOAT32, middle: int = ABS, signature: Sequence[int] = ()) -> bytes:
    """The mean of the last three frames, of which a variable holds two, and the sum of all frames so far.

    `middle` is an operator between reading and assigning: ABS, or REVERSE_SEQUENCE, which is not supported.
    """
    scale = 0.5 if dtype == INT8 else 0
    model = Model()

    def tensor(name: str, extents: Sequence[int]) -> int:
        made = model.tensor(name, extents, dtype, signature if name == "x" else ())
        return model.scaled(made, scale, 0) if scale else made

    def read(handle: int, name: str, extents: Sequence[int]) -> int:
        made = model.read(handle, name, extents, dtype)
        return model.scaled(made, scale, 0) if scale else made

    model.call_once(1)
    x, magnitudes = tensor("x", (1, 1, 4)), tensor("magnitudes", (1, 1, 4))
    frames, total = model.variable("frames"), model.variable("total")
    before = read(frames, "before", (1, 2, 4))
    if middle == REVERSE_SEQUENCE:
        length = model.constant("length", np.array([4], np.int32))
        model.op(REVERSE_SEQUENCE, [x, length], [magnitudes], reversed_along(2))
    else:
        model.op(middle, [x], [magnitudes])
    window, kept, mean = tensor("window", (1, 3, 4)), tensor("kept", (1, 2, 4)), tensor("mean", (1, 4))
    model.op(CONCATENATION, [before, magnitudes], [window], (10, {4: ("i32", 1)}))
    begin, size = (model.constant(n, np.array(v, np.int32)) for n, v in (("begin", [0, 1, 0]), ("size", [1, 2, 4])))
    model.op(SLICE, [window, begin, size], [kept])
    model.assign(frames, kept)
    axis = model.constant("axis", np.array([1], np.int32))
    model.op(MEAN, [window, axis], [mean], (27, {4: ("i8", 0)}))
    sum_before, sum_after = read(total, "sum before", (1, 1, 4)), tensor("sum after", (1, 1, 4))
    model.op(ADD, [sum_before, magnitudes], [sum_after], ADD_OPTIONS)
    model.assign(total, sum_after)
    model.graph([x], [mean, sum_after])
    of_file = np.int8 if dtype == INT8 else np.float32
    first_value(model, "frames", np.arange(8, dtype=of_file).reshape(1, 2, 4), scale)
    first_value(model, "total", np.full((1, 1, 4), 3, of_file), scale)
    return model.bytes([], [])


def counter(extents: Sequence[int] = (), signature: Sequence[int] = ()) -> bytes:
    """x plus the number of the run, which a variable of these extents counts."""
    model = Model()
    model.call_once(1)
    x, y = (model.tensor(name, (1, 4), FLOAT32, signature) for name in "xy")
    after, count = model.tensor("after", extents), model.variable("count")
    one = model.constant("one", np.ones(extents, np.float32))
    before = model.read(count, "before", extents)
    model.op(ADD, [before, one], [after], ADD_OPTIONS)
    model.assign(count, after)
    model.op(ADD, [x, after], [y], ADD_OPTIONS)
    model.graph([x], [y])
    first_value(model, "count", np.zeros(extents, np.float32))
    return model.bytes([], [])


def shared_with_a_branch() -> bytes:
    """The sum of all x so far. If an input is true, a branch also adds x to the variable."""
    model = Model()
    model.call_once(3)
    x, true, y = model.tensor("x", (1, 4)), model.tensor("true", (1,), BOOL), model.tensor("y", (1, 4))
    total, after = model.variable("total"), model.tensor("after", (1, 4))
    before = model.read(total, "before", (1, 4))
    model.op(ADD, [before, x], [after], ADD_OPTIONS)
    model.assign(total, after)
    model.op(IF, [true, after], [y], (92, {4: ("i32", 1), 6: ("i32", 2)}))
    model.graph([x, true], [y])
    x, after = model.tensor("x", (1, 4)), model.tensor("after", (1, 4))
    total = model.variable("total")
    before = model.read(total, "before", (1, 4))
    model.op(ADD, [before, x], [after], ADD_OPTIONS)
    model.assign(total, after)
    model.graph([x], [after])
    x, y = model.tensor("x", (1, 4)), model.tensor("y", (1, 4))
    model.op(ABS, [x], [y])
    model.graph([x], [y])
    first_value(model, "total", np.full((1, 4), 2, np.float32))
    return model.bytes([], [])


def computed_first_values() -> bytes:
    """The sum of all x so far, which begins with the magnitude of a constant."""
    model = Model()
    model.call_once(1)
    x, after, total = model.tensor("x", (1, 4)), model.tensor("after", (1, 4)), model.variable("total")
    before = model.read(total, "before", (1, 4))
    model.op(ADD, [before, x], [after], ADD_OPTIONS)
    model.assign(total, after)
    model.graph([x], [after])
    total, first = model.variable("total"), model.tensor("first", (1, 4))
    model.op(ABS, [model.constant("constant", np.full((1, 4), -2, np.float32))], [first])
    model.assign(total, first)
    return model.bytes([], [])


def without_first_value() -> bytes:
    """The sum of all x so far, of which no first value is given."""
    model = Model()
    x, after, total = model.tensor("x", (1, 4)), model.tensor("after", (1, 4)), model.variable("total")
    before = model.read(total, "before", (1, 4))
    model.op(ADD, [before, x], [after], ADD_OPTIONS)
    model.assign(total, after)
    return model.bytes([x], [after])
