"""What a session takes of the device's memory, and where tensors lie in it."""

from typing import NamedTuple, TypedDict


class MemoryParts(TypedDict):
    """Bytes by what they are for."""

    #: Textures that hold intermediate tensors.
    pool: int
    #: Textures of weights.
    weights: int
    #: Textures of inputs and outputs that lie beside the pool.
    io: int
    #: Buffers of the dispatches' parameters and row tables.
    tables: int
    #: Buffers that values go through between host and device.
    transfer: int
    #: All else.
    other: int
    #: All of these together.
    total: int


class MemoryPeak(TypedDict):
    """The most bytes there were at any moment of loading and running."""

    #: Of the session.
    allocated: int
    #: Of the blocks that the allocator had taken from the driver, for the whole device.
    reserved: int


class Memory(TypedDict):
    """What a session takes of the device's memory, in bytes; `None` where the driver does not say."""

    #: What was asked of the device.
    planned: MemoryParts
    #: The same as the driver allocated it, alignment included.
    allocated: MemoryParts | None
    #: Of the planned pool and weights, what other sessions use as well.
    shared: int
    #: Blocks that the allocator has taken from the driver, for the whole device.
    reserved: int | None
    #: The most since the session was made.
    peak: MemoryPeak | None


class MemoryBlock(NamedTuple):
    """Bytes of the pool that a tensor, or some of its rows, lie in, and the steps at which they are needed."""

    #: Name of the tensor.
    tensor: str
    #: Index of the texture.
    texture: int
    #: First byte in the texture.
    offset: int
    bytes: int
    first_step: int
    #: Inclusive.
    last_step: int


class MemoryMap(NamedTuple):
    """The pool over a run."""

    #: Bytes of each texture.
    textures: list[int]
    #: Number of steps.
    steps: int
    #: What lies where, and when.
    blocks: list[MemoryBlock]
