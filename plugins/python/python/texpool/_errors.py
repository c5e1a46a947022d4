"""What is raised: each a `texpool.Error`, and what Python has for its kind. Files that are not there, or cannot be
read, are Python's own `FileNotFoundError` and `PermissionError`."""


class Error(Exception):
    """Why a model cannot be read, planned or run."""


class ModelError(Error, ValueError):
    """The file or bytes are no model that can be run: damaged, or with operators that are not supported."""


class PlanError(Error, ValueError):
    """There is no plan: records contradict themselves, or the model's operators cannot be placed."""


class BudgetError(PlanError):
    """No plan keeps within the budget; the text names the smallest that was found, or what every plan takes."""


class SavedPlanError(PlanError):
    """The bytes are no plan of this model, or one for a device with larger textures."""


class NoSuchTensorError(Error, KeyError):
    """The model has no input or output of that name; the text lists those that it has."""

    # `KeyError` would show the message in quotes, as if it were the key.
    __str__ = Exception.__str__


class TensorTypeError(Error, TypeError):
    """What was given for an input is no array of its type."""


class TensorValueError(Error, ValueError):
    """An array has another shape than its input, or holds what cannot be computed with, or is missing."""


class ClosedError(Error, ValueError):
    """The session was closed."""


class DeviceError(Error, RuntimeError):
    """The device, or its driver, cannot do what was asked."""


class NoAdapterError(DeviceError):
    """There is no adapter, or none of the name that was asked for."""


class OutOfDeviceMemoryError(DeviceError, MemoryError):
    """The device's memory is used up."""


class DeviceLostError(DeviceError):
    """The device is gone: sessions on it are of no more use, new ones open it again."""


class DeviceTimeoutError(DeviceError, TimeoutError):
    """The device took longer than `timeout`. The next run first waits for what is left."""


class InternalError(Error, RuntimeError):
    """A defect of texpool, which its authors would like to hear of."""
