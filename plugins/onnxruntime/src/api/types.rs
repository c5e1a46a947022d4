//! Opaque types and constants of the runtime.

/// Declares types whose contents only the runtime knows.
macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: the runtime's own.")]
            #[repr(C)]
            #[derive(Debug)]
            pub(crate) struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}

opaque! {
    OrtAllocator OrtDataTransferImpl OrtMemoryInfo OrtEpDevice OrtEpGraphSupportInfo OrtGraph OrtHardwareDevice OrtKernelContext OrtKeyValuePairs OrtLogger OrtNode
    OrtNodeComputeContext OrtOpAttr OrtSessionOptions OrtStatus OrtTensorTypeAndShapeInfo OrtTypeInfo OrtValue
    OrtValueInfo
}

/// A character of a path (`ORTCHAR_T`).
#[cfg(windows)]
pub(crate) type OrtPathChar = u16;
/// A character of a path (`ORTCHAR_T`).
#[cfg(not(windows))]
pub(crate) type OrtPathChar = std::ffi::c_char;

/// The interface version that is requested. Later runtimes provide it, too.
pub(crate) const ORT_API_VERSION: u32 = 24;

/// `OrtErrorCode`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    InvalidArgument = 2,
    EngineError = 5,
    RuntimeException = 6,
    NotImplemented = 9,
    EpFail = 11,
    /// Added after version 24; older runtimes report it as a failure.
    DeviceReset = 15,
}

/// `OrtLoggingLevel`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Info = 1,
    Warning = 2,
}

/// `OrtHardwareDeviceType`.
pub(crate) mod hardware {
    pub(crate) const CPU: i32 = 0;
    pub(crate) const GPU: i32 = 1;
}

/// `OrtOpAttrType`.
pub(crate) mod attribute {
    pub(crate) const INT: i32 = 1;
    pub(crate) const INTS: i32 = 2;
    pub(crate) const FLOAT: i32 = 3;
    pub(crate) const FLOATS: i32 = 4;
    pub(crate) const STRING: i32 = 5;
    pub(crate) const STRINGS: i32 = 6;
    pub(crate) const GRAPH: i32 = 7;
    pub(crate) const TENSOR: i32 = 8;
}
