//! Converts the library's errors into Python exceptions. Each is a class of `texpool` that also derives from a
//! matching built-in exception.

use std::io;

use pyo3::{PyErr, exceptions::PyOSError};
use texpool::{CompileError, ConvertError, Error, GpuError, ImportError, plan::PlanError};

use crate::interrupt;

/// The exception classes, defined in `python/texpool/_errors.py`.
pub(crate) mod classes {
    #![allow(missing_docs, reason = "the macro makes types that are called like their classes")]
    use pyo3::import_exception;

    import_exception!(texpool._errors, BudgetError);
    import_exception!(texpool._errors, ClosedError);
    import_exception!(texpool._errors, DeviceError);
    import_exception!(texpool._errors, DeviceLostError);
    import_exception!(texpool._errors, DeviceTimeoutError);
    import_exception!(texpool._errors, Error);
    import_exception!(texpool._errors, InternalError);
    import_exception!(texpool._errors, ModelError);
    import_exception!(texpool._errors, NoAdapterError);
    import_exception!(texpool._errors, NoSuchTensorError);
    import_exception!(texpool._errors, OutOfDeviceMemoryError);
    import_exception!(texpool._errors, PlanError);
    import_exception!(texpool._errors, SavedPlanError);
    import_exception!(texpool._errors, TensorTypeError);
    import_exception!(texpool._errors, TensorValueError);
}

/// Converts an error of the library into a Python exception.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Import(ImportError::Read { path, source }) => match source.raw_os_error() {
            // Given an errno, Python selects the matching subclass, such as `FileNotFoundError` or `PermissionError`.
            Some(errno) => PyOSError::new_err((errno, reason(&source), path.into_os_string())),
            None => PyOSError::new_err(text),
        },
        // The core library does not know how this interface sets dimensions.
        Error::Import(ImportError::UnresolvedDim(_)) => {
            classes::ModelError::new_err(format!("{text}\n  bind them by dims={{\"NAME\": EXTENT}}"))
        }
        Error::Import(_) | Error::Graph(_) | Error::Kernel(_) => classes::ModelError::new_err(text),
        Error::Compile(error) => of_compiler(&error),
        Error::SavedPlan(_) => classes::SavedPlanError::new_err(text),
        Error::Gpu(error) => of_device(&error),
        Error::NoSuchTensor { .. } | Error::AmbiguousName { .. } => classes::NoSuchTensorError::new_err(text),
        Error::Tensor { source: ConvertError::ElementType { .. }, .. } => classes::TensorTypeError::new_err(text),
        Error::Tensor { .. } | Error::Extent(_) | Error::MissingInputs { .. } | Error::Carry { .. } => {
            classes::TensorValueError::new_err(text)
        }
        _ => classes::Error::new_err(text),
    }
}

/// Returns the system's error message without the appended error number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn of_compiler(error: &CompileError) -> PyErr {
    let text = error.to_string();
    match error {
        CompileError::Budget { .. } | CompileError::BelowFloor { .. } | CompileError::DeviceBudget { .. } => {
            classes::BudgetError::new_err(text)
        }
        _ => classes::PlanError::new_err(text),
    }
}

fn of_device(error: &GpuError) -> PyErr {
    let text = error.to_string();
    match error {
        GpuError::NoAdapter { .. } => classes::NoAdapterError::new_err(text),
        GpuError::OutOfMemory { .. } => classes::OutOfDeviceMemoryError::new_err(text),
        GpuError::Lost { .. } => classes::DeviceLostError::new_err(text),
        GpuError::Timeout { .. } => classes::DeviceTimeoutError::new_err(text),
        GpuError::Compile(error) => of_compiler(error),
        // A signal handler raised an exception, which ended the wait.
        GpuError::Interrupted { .. } => interrupt::take_raised().unwrap_or_else(|| classes::DeviceError::new_err(text)),
        _ => classes::DeviceError::new_err(text),
    }
}

/// Converts an error of the planner into a Python exception.
pub(crate) fn of_planner(error: &PlanError) -> PyErr {
    classes::PlanError::new_err(error.to_string())
}
