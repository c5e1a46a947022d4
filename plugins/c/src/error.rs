//! Errors: a status code for programs, and a message for people.

use std::ffi::{CStr, CString, c_char};

use texpool_rust::{
    CarryProblem, CompileError, ConvertError, Error, GpuError, ImportError, OptionError, TensorError, plan::PlanError,
};

/// Result of a call. Later versions may add codes: treat unknown codes as errors.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_status {
    /// Success.
    TEXPOOL_OK = 0,
    /// A bug in the calling program: a pointer is NULL or misaligned, memory regions overlap, or a size or number is
    /// invalid.
    TEXPOOL_ERROR_ARGUMENT = 1,
    /// An option is unknown, its value cannot be parsed, or it conflicts with another option.
    TEXPOOL_ERROR_OPTION = 2,
    /// The model file cannot be read.
    TEXPOOL_ERROR_FILE = 3,
    /// The model is not in a known format, is damaged, or uses unsupported features; the message lists all problems.
    TEXPOOL_ERROR_MODEL = 4,
    /// The saved plan is invalid, belongs to another model, or requires a device with larger textures. Create the
    /// session without it, and save the new plan.
    TEXPOOL_ERROR_SAVED_PLAN = 5,
    /// No plan fits the budget; the message contains the smallest size that was found.
    TEXPOOL_ERROR_BUDGET = 6,
    /// The model cannot be planned for another reason.
    TEXPOOL_ERROR_PLAN = 7,
    /// The model has no input or output with that name or index, or the name is ambiguous.
    TEXPOOL_ERROR_NO_SUCH_TENSOR = 8,
    /// An input or output has a different element type.
    TEXPOOL_ERROR_ELEMENT_TYPE = 9,
    /// An input or output has different extents, or a different number of elements or bytes.
    TEXPOOL_ERROR_SHAPE = 10,
    /// A value cannot be represented in the device's texels, or in the element type of the output.
    TEXPOOL_ERROR_VALUE = 11,
    /// An input has no values, or an input or output is given twice.
    TEXPOOL_ERROR_INPUTS = 12,
    /// No graphics adapter was found, none matches the name, or the adapter cannot open a device.
    TEXPOOL_ERROR_NO_ADAPTER = 13,
    /// The device rejected a request, or one of its limits is too low.
    TEXPOOL_ERROR_DEVICE = 14,
    /// The device is lost, with everything created on it: release it, and open another one.
    TEXPOOL_ERROR_DEVICE_LOST = 15,
    /// The device did not respond in time. It may still be working; the next call waits for it to finish.
    TEXPOOL_ERROR_TIMEOUT = 16,
    /// The device is out of memory.
    TEXPOOL_ERROR_OUT_OF_MEMORY = 17,
    /// The buffers to be placed are inconsistent, or there are too many of them.
    TEXPOOL_ERROR_BUFFERS = 18,
    /// The session or device was created before this process was forked, and works only in the parent. Open a device
    /// and create sessions in the process that runs them.
    TEXPOOL_ERROR_FORKED = 19,
    /// A bug in the library. After this error, all later runs of the session fail with it: release the session.
    TEXPOOL_ERROR_INTERNAL = 100,
}

use texpool_status::*;

impl texpool_status {
    const ALL: [(Self, &'static CStr); 21] = [
        (TEXPOOL_OK, c"TEXPOOL_OK"),
        (TEXPOOL_ERROR_ARGUMENT, c"TEXPOOL_ERROR_ARGUMENT"),
        (TEXPOOL_ERROR_OPTION, c"TEXPOOL_ERROR_OPTION"),
        (TEXPOOL_ERROR_FILE, c"TEXPOOL_ERROR_FILE"),
        (TEXPOOL_ERROR_MODEL, c"TEXPOOL_ERROR_MODEL"),
        (TEXPOOL_ERROR_SAVED_PLAN, c"TEXPOOL_ERROR_SAVED_PLAN"),
        (TEXPOOL_ERROR_BUDGET, c"TEXPOOL_ERROR_BUDGET"),
        (TEXPOOL_ERROR_PLAN, c"TEXPOOL_ERROR_PLAN"),
        (TEXPOOL_ERROR_NO_SUCH_TENSOR, c"TEXPOOL_ERROR_NO_SUCH_TENSOR"),
        (TEXPOOL_ERROR_ELEMENT_TYPE, c"TEXPOOL_ERROR_ELEMENT_TYPE"),
        (TEXPOOL_ERROR_SHAPE, c"TEXPOOL_ERROR_SHAPE"),
        (TEXPOOL_ERROR_VALUE, c"TEXPOOL_ERROR_VALUE"),
        (TEXPOOL_ERROR_INPUTS, c"TEXPOOL_ERROR_INPUTS"),
        (TEXPOOL_ERROR_NO_ADAPTER, c"TEXPOOL_ERROR_NO_ADAPTER"),
        (TEXPOOL_ERROR_DEVICE, c"TEXPOOL_ERROR_DEVICE"),
        (TEXPOOL_ERROR_DEVICE_LOST, c"TEXPOOL_ERROR_DEVICE_LOST"),
        (TEXPOOL_ERROR_TIMEOUT, c"TEXPOOL_ERROR_TIMEOUT"),
        (TEXPOOL_ERROR_OUT_OF_MEMORY, c"TEXPOOL_ERROR_OUT_OF_MEMORY"),
        (TEXPOOL_ERROR_BUFFERS, c"TEXPOOL_ERROR_BUFFERS"),
        (TEXPOOL_ERROR_FORKED, c"TEXPOOL_ERROR_FORKED"),
        (TEXPOOL_ERROR_INTERNAL, c"TEXPOOL_ERROR_INTERNAL"),
    ];
}

/// Details of a failed call. Owned by the caller, who must release it.
pub struct texpool_error {
    status: texpool_status,
    message: CString,
}

/// An error before it is handed to the caller.
#[derive(Debug)]
pub(crate) struct Failure {
    status: texpool_status,
    message: String,
}

impl Failure {
    pub(crate) fn new(status: texpool_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(TEXPOOL_ERROR_ARGUMENT, message)
    }

    pub(crate) fn status(&self) -> texpool_status {
        self.status
    }

    /// Converts the failure into the C error object.
    pub(crate) fn into_error(self) -> texpool_error {
        // C strings cannot contain zeros.
        let message = CString::new(self.message.replace('\0', "\u{fffd}")).unwrap_or_default();
        texpool_error { status: self.status, message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = error.to_string();
        // The core library does not know how this interface sets dimensions.
        if let Error::Import(ImportError::UnresolvedDim(_)) = error {
            message.push_str("\n  bind them by the option `dim`, NAME=VALUE, once for each");
        }
        Self::new(status_of(&error), message)
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Self {
        Self::new(TEXPOOL_ERROR_OPTION, error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::new(TEXPOOL_ERROR_BUFFERS, error.to_string())
    }
}

fn status_of(error: &Error) -> texpool_status {
    match error {
        Error::Import(ImportError::Read { .. }) => TEXPOOL_ERROR_FILE,
        Error::Import(_) | Error::Graph(_) | Error::Kernel(_) => TEXPOOL_ERROR_MODEL,
        Error::Compile(error) => of_compiler(error),
        Error::SavedPlan(_) => TEXPOOL_ERROR_SAVED_PLAN,
        Error::Gpu(error) => of_device(error),
        Error::NoSuchTensor { .. } | Error::AmbiguousName { .. } => TEXPOOL_ERROR_NO_SUCH_TENSOR,
        Error::MissingInputs { .. } | Error::InputTwice { .. } | Error::OutputTwice { .. } => TEXPOOL_ERROR_INPUTS,
        Error::Tensor { source, .. } => of_values(source),
        Error::Extent(_) => TEXPOOL_ERROR_SHAPE,
        Error::Carry { problem, .. } => of_carry(problem),
        _ => TEXPOOL_ERROR_INTERNAL,
    }
}

fn of_compiler(error: &CompileError) -> texpool_status {
    match error {
        CompileError::Budget { .. } | CompileError::BelowFloor { .. } | CompileError::DeviceBudget { .. } => {
            TEXPOOL_ERROR_BUDGET
        }
        _ => TEXPOOL_ERROR_PLAN,
    }
}

fn of_device(error: &GpuError) -> texpool_status {
    match error {
        GpuError::NoAdapter { .. } | GpuError::NoDevice { .. } => TEXPOOL_ERROR_NO_ADAPTER,
        GpuError::Lost { .. } => TEXPOOL_ERROR_DEVICE_LOST,
        GpuError::Forked => TEXPOOL_ERROR_FORKED,
        GpuError::Timeout { .. } => TEXPOOL_ERROR_TIMEOUT,
        GpuError::OutOfMemory { .. } => TEXPOOL_ERROR_OUT_OF_MEMORY,
        GpuError::Compile(error) => of_compiler(error),
        GpuError::Limit { .. } | GpuError::Refused { .. } => TEXPOOL_ERROR_DEVICE,
        GpuError::Graph(_) | GpuError::Kernel(_) => TEXPOOL_ERROR_MODEL,
        _ => TEXPOOL_ERROR_INTERNAL,
    }
}

fn of_carry(problem: &CarryProblem) -> texpool_status {
    match problem {
        CarryProblem::Extents { .. } => TEXPOOL_ERROR_SHAPE,
        CarryProblem::ElementType { .. } | CarryProblem::Quantization { .. } => TEXPOOL_ERROR_ELEMENT_TYPE,
        _ => TEXPOOL_ERROR_INPUTS,
    }
}

fn of_values(error: &ConvertError) -> texpool_status {
    match error {
        ConvertError::ElementType { .. } => TEXPOOL_ERROR_ELEMENT_TYPE,
        ConvertError::Extents { .. } | ConvertError::Count { .. } => TEXPOOL_ERROR_SHAPE,
        _ => TEXPOOL_ERROR_VALUE,
    }
}

/// Creates the error for invalid extents or strides of the argument `what`.
pub(crate) fn no_tensor(what: &str, error: &TensorError) -> Failure {
    Failure::new(TEXPOOL_ERROR_SHAPE, format!("{what}: {error}"))
}

/// Returns the status of an error, or TEXPOOL_OK if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_status(error: *const texpool_error) -> texpool_status {
    // SAFETY: NULL, or an error that the caller has not released.
    unsafe { error.as_ref() }.map_or(TEXPOOL_OK, |error| error.status)
}

/// Returns the message of an error, in UTF-8, without a trailing newline; "" if error is NULL. The string is valid
/// until the error is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_message(error: *const texpool_error) -> *const c_char {
    // SAFETY: NULL, or an error that the caller has not released.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Releases an error. Does nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_release(error: *mut texpool_error) {
    if !error.is_null() {
        // SAFETY: `Box::into_raw` returned it, and the caller releases it once.
        drop(unsafe { Box::from_raw(error) });
    }
}

/// Returns the name of a status, such as "TEXPOOL_ERROR_BUDGET", or "unknown" for an unknown number. Never NULL; the
/// string is static.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_status_name(status: i32) -> *const c_char {
    let entry = texpool_status::ALL.iter().find(|(code, _)| *code as i32 == status);
    entry.map_or(c"unknown", |(_, name)| name).as_ptr()
}
