"""Runs neural networks on the GPU out of a fixed pool of textures.

    import numpy, texpool

    session = texpool.InferenceSession("face_detection.tflite")
    image = numpy.zeros(session.get_inputs()[0].shape, numpy.float32)
    scores, boxes = session.run(None, {"input": image})
    print(session.memory()["planned"]["total"], "bytes of the device's memory")
"""

from ._adapters import Adapter, list_adapters
from ._errors import (
    BudgetError,
    ClosedError,
    DeviceError,
    DeviceLostError,
    DeviceTimeoutError,
    Error,
    InternalError,
    ModelError,
    NoAdapterError,
    NoSuchTensorError,
    OutOfDeviceMemoryError,
    PlanError,
    SavedPlanError,
    TensorTypeError,
    TensorValueError,
)
from ._memory import Memory, MemoryBlock, MemoryMap, MemoryParts, MemoryPeak
from ._options import Progress
from ._planner import Plan, plan, strategies
from ._session import FrontPoint, InferenceSession, ModelMetadata, NodeArg, Quantization, pareto_front
from ._texpool import VERSION as __version__

__all__ = [
    "Adapter",
    "BudgetError",
    "ClosedError",
    "DeviceError",
    "DeviceLostError",
    "DeviceTimeoutError",
    "Error",
    "FrontPoint",
    "InferenceSession",
    "InternalError",
    "Memory",
    "MemoryBlock",
    "MemoryMap",
    "MemoryParts",
    "MemoryPeak",
    "ModelError",
    "ModelMetadata",
    "NoAdapterError",
    "NoSuchTensorError",
    "NodeArg",
    "OutOfDeviceMemoryError",
    "Plan",
    "PlanError",
    "Progress",
    "Quantization",
    "SavedPlanError",
    "TensorTypeError",
    "TensorValueError",
    "__version__",
    "pareto_front",
    "list_adapters",
    "plan",
    "strategies",
]
