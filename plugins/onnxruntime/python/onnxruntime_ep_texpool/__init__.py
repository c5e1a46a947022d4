"""texpool as an execution provider of ONNX Runtime: models run on the GPU, through Vulkan, Metal or Direct3D 12.

    import onnxruntime, onnxruntime_ep_texpool

    onnxruntime.register_execution_provider_library("texpool", onnxruntime_ep_texpool.get_library_path())
    providers = [(onnxruntime_ep_texpool.get_ep_name(), {"budget": "4MiB"}), "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession("mobilenet_v2.onnx", providers=providers)
"""

import sys
from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]

_LIBRARIES = {"win32": "texpool_onnxruntime.dll", "darwin": "libtexpool_onnxruntime.dylib"}


def get_library_path() -> str:
    """The library, for `onnxruntime.register_execution_provider_library`."""
    path = Path(__file__).resolve().parent / _LIBRARIES.get(sys.platform, "libtexpool_onnxruntime.so")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; install the package's wheel, which has it")
    return str(path)


def get_ep_name() -> str:
    """The name of the execution provider, as `onnxruntime.get_ep_devices` and `InferenceSession.get_providers` have it."""
    return "TexpoolExecutionProvider"


def get_ep_names() -> list[str]:
    """The names of all execution providers that are in the library: it has one."""
    return [get_ep_name()]
