//! Errors: a status code of the runtime, and a message for people.

use texpool::{Error, GpuError, OptionError};

use crate::api::types::ErrorCode;

/// An error before it is handed to the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Creates an error for a runtime that violates its interface, for example by passing NULL where that is not
    /// allowed.
    pub(crate) fn interface(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::EpFail, message)
    }

    /// Prepends a description of the current operation to the message.
    pub(crate) fn during(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code_of(&error), error.to_string())
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Self {
        Self::new(ErrorCode::InvalidArgument, error.to_string())
    }
}

fn code_of(error: &Error) -> ErrorCode {
    match error {
        Error::Gpu(GpuError::Lost { .. }) => ErrorCode::DeviceReset,
        Error::Gpu(_) => ErrorCode::EngineError,
        // Another provider may be able to run it; in Python, the runtime then falls back to its own provider.
        _ => ErrorCode::EpFail,
    }
}

#[cfg(test)]
mod tests {
    use texpool::{Error, GpuError, Model};

    use super::{ErrorCode, Failure};

    /// Programs must be able to distinguish a lost device, after which they should create a new session, from one
    /// that is too slow or too small.
    #[test]
    fn device_errors_have_their_own_codes() {
        let of = |error| Failure::from(Error::Gpu(error));
        let lost = of(GpuError::Lost { reason: None, message: "it was removed".into() });
        assert_eq!(lost.code, ErrorCode::DeviceReset);
        assert!(lost.message.contains("the device was lost"), "{}", lost.message);
        let full = of(GpuError::OutOfMemory { doing: "making textures".into(), bytes: Some(1 << 40) });
        assert_eq!(full.code, ErrorCode::EngineError);
        assert!(full.message.contains("out of memory"), "{}", full.message);
    }

    #[test]
    fn unreadable_graphs_are_left_to_other_providers() {
        let failure = Failure::from(Model::from_bytes([0; 3]).unwrap_err());
        assert_eq!(failure.code, ErrorCode::EpFail);
    }
}
