//! What went wrong: a number for programs, and a text for people.

use std::ffi::{CStr, CString, c_char};

use texpool_rust::{
    CompileError, ConvertError, Error, GpuError, ImportError, OptionError, TensorError, plan::PlanError,
};

/// How a call ended. Later versions may add numbers: treat those that you do not know as errors.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_status {
    /// All is well.
    TEXPOOL_OK = 0,
    /// A pointer is NULL that must not be, is not aligned, or memory overlaps that must not; a size or a number that is
    /// none. The program is wrong.
    TEXPOOL_ERROR_ARGUMENT = 1,
    /// There is no option of that name, its text means nothing, or it does not go with another.
    TEXPOOL_ERROR_OPTION = 2,
    /// The model's file cannot be read.
    TEXPOOL_ERROR_FILE = 3,
    /// The file or the bytes are no model, are damaged, or hold what is not supported; the text lists all of that.
    TEXPOOL_ERROR_MODEL = 4,
    /// The bytes are no saved plan, or one of another model or for a device with larger textures. Create the session
    /// without them, and save its plan.
    TEXPOOL_ERROR_SAVED_PLAN = 5,
    /// No plan keeps within the budget; the text says the least that was found.
    TEXPOOL_ERROR_BUDGET = 6,
    /// The model cannot be planned for another reason.
    TEXPOOL_ERROR_PLAN = 7,
    /// The model has no input or output of that name or index, or several of that name.
    TEXPOOL_ERROR_NO_SUCH_TENSOR = 8,
    /// An input or output is of another element type.
    TEXPOOL_ERROR_ELEMENT_TYPE = 9,
    /// An input or output is of other extents, or of another number of elements or bytes.
    TEXPOOL_ERROR_SHAPE = 10,
    /// A value is one that the device's texels, or the output's elements, cannot hold.
    TEXPOOL_ERROR_VALUE = 11,
    /// An input has no values, or an input or output is given twice.
    TEXPOOL_ERROR_INPUTS = 12,
    /// There is no graphics adapter, or none of that name, or it gives no device.
    TEXPOOL_ERROR_NO_ADAPTER = 13,
    /// The device refuses something, or a limit of it is too low.
    TEXPOOL_ERROR_DEVICE = 14,
    /// The device is lost. What was made on it is, too: release it, and open another one.
    TEXPOOL_ERROR_DEVICE_LOST = 15,
    /// The device has not answered in time. It may still be at it; the next call waits for that first.
    TEXPOOL_ERROR_TIMEOUT = 16,
    /// The device has too little memory.
    TEXPOOL_ERROR_OUT_OF_MEMORY = 17,
    /// Buffers that are to be placed contradict themselves or each other, or are too many.
    TEXPOOL_ERROR_BUFFERS = 18,
    /// The session or device was created before this process was forked, and works in the parent alone. Open a device and
    /// create sessions in the process that runs them.
    TEXPOOL_ERROR_FORKED = 19,
    /// A defect of the library. A session in which this happened answers every later run with it: release it.
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

/// What went wrong in a call. Belongs to the caller, who releases it.
pub struct texpool_error {
    status: texpool_status,
    message: CString,
}

/// An error on its way to the caller.
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

    /// As what the caller gets.
    pub(crate) fn into_error(self) -> texpool_error {
        // A text for C has no zeros but that at its end.
        let message = CString::new(self.message.replace('\0', "\u{fffd}")).unwrap_or_default();
        texpool_error { status: self.status, message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = error.to_string();
        // The library does not know how this interface binds them.
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

fn of_values(error: &ConvertError) -> texpool_status {
    match error {
        ConvertError::ElementType { .. } => TEXPOOL_ERROR_ELEMENT_TYPE,
        ConvertError::Extents { .. } | ConvertError::Count { .. } => TEXPOOL_ERROR_SHAPE,
        _ => TEXPOOL_ERROR_VALUE,
    }
}

/// Extents and strides that are no tensor's, of the values that are called `what`.
pub(crate) fn no_tensor(what: &str, error: &TensorError) -> Failure {
    Failure::new(TEXPOOL_ERROR_SHAPE, format!("{what}: {error}"))
}

/// The number of an error; TEXPOOL_OK of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_status(error: *const texpool_error) -> texpool_status {
    // SAFETY: NULL, or an error that the caller has not released.
    unsafe { error.as_ref() }.map_or(TEXPOOL_OK, |error| error.status)
}

/// The text of an error, in UTF-8, without a line end; "" of NULL. It is the error's, and goes with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_message(error: *const texpool_error) -> *const c_char {
    // SAFETY: NULL, or an error that the caller has not released.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Releases an error. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_error_release(error: *mut texpool_error) {
    if !error.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and the caller releases it once.
        drop(unsafe { Box::from_raw(error) });
    }
}

/// The name of a status, such as "TEXPOOL_ERROR_BUDGET"; "unknown" of a number that is none. Never NULL; it is the
/// library's and stays.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_status_name(status: i32) -> *const c_char {
    let found = texpool_status::ALL.iter().find(|(known, _)| *known as i32 == status);
    found.map_or(c"unknown", |(_, name)| name).as_ptr()
}
