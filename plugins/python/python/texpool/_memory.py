"""What a session takes of the device's memory, and where tensors lie in it."""

from typing import NamedTuple, TypedDict


class MemoryParts(TypedDict):
    """Bytes by what they are for."""

    #: Textures that hold intermediate tensors.
    pool: int
    #: Textures of weights.
    weights: int
    #: Textures of inputs and outputs that lie outside the pool.
    io: int
    #: Buffers for parameters of dispatches and row tables.
    tables: int
    #: Staging buffers for transfers between host and device.
    transfer: int
    #: Everything else.
    other: int
    #: Sum of all parts.
    total: int


class MemoryPeak(TypedDict):
    """The most bytes there were at any moment of loading and running."""

    #: Bytes allocated for the session.
    allocated: int
    #: Bytes that the allocator had reserved from the driver for the whole device.
    reserved: int


class Memory(TypedDict):
    """What a session takes of the device's memory, in bytes; `None` where the driver does not say."""

    #: Bytes requested from the device.
    planned: MemoryParts
    #: Bytes that the driver allocated for these requests, including alignment padding.
    allocated: MemoryParts | None
    #: Part of the planned pool and weights that is shared with other sessions.
    shared: int
    #: Bytes that the allocator has reserved from the driver for the whole device.
    reserved: int | None
    #: Maximum since the session was created.
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

    #: Size of each texture in bytes.
    textures: list[int]
    #: Number of steps.
    steps: int
    #: Contents of the textures over time.
    blocks: list[MemoryBlock]
