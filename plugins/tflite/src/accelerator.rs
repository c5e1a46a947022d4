//! The accelerator that LiteRT's `CompiledModel` looks up in the library since version 2.2. It provides the delegate.

use std::{
    env,
    ffi::{c_char, c_int, c_void},
    ptr,
};

use crate::{
    abi::{
        BufferHandlersDef, HW_ACCELERATOR_GPU, LiteRtAbiHeader, LiteRtAcceleratorDef, LiteRtApiVersion,
        LiteRtRuntimeContext, LiteRtStatus, TfLiteDelegate,
    },
    delegate::Delegate,
    guard::guarded,
    log::tell,
    options::Options,
};

/// Environment variable for options, as `name=value` separated by `;`. This is necessary because `CompiledModel` only
/// passes on options of LiteRT's built-in accelerators.
const VARIABLE: &str = "TEXPOOL_LITERT_OPTIONS";

/// The symbol that the runtime looks up by this name.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, private_interfaces, reason = "the runtime looks for it by this name alone")]
pub static LiteRtAcceleratorImpl: LiteRtAcceleratorDef = LiteRtAcceleratorDef {
    abi_header: header(size_of::<LiteRtAcceleratorDef>()),
    get_name,
    get_version,
    get_hardware_support,
    is_tflite_delegate_responsible_for_jit_compilation,
    create_delegate,
    start_metrics_collection: ptr::null(),
    stop_metrics_collection: ptr::null(),
    // Inputs and outputs are in host memory, so no custom buffers are supported.
    buffer_handlers: BufferHandlersDef {
        abi_header: header(size_of::<BufferHandlersDef>()),
        functions: [ptr::null(); 6],
        device_tag: 0,
        queue_tag: 0,
        num_supported_buffer_types: 0,
        supported_buffer_types: [0; 16],
    },
};

const fn header(size: usize) -> LiteRtAbiHeader {
    LiteRtAbiHeader { struct_size: size as u16, major_version: 1, minor_version: 0, reserved: 0 }
}

/// Writes a result to an output argument of the runtime.
///
/// # Safety
/// The pointer is NULL, or it points to memory for a `T`.
unsafe fn answer<T>(place: *mut T, value: T) -> LiteRtStatus {
    if place.is_null() {
        return LiteRtStatus::INVALID_ARGUMENT;
    }
    // SAFETY: as the caller of this function promises.
    unsafe { place.write(value) };
    LiteRtStatus::OK
}

unsafe extern "C" fn get_name(_: *const c_void, name: *mut *const c_char) -> LiteRtStatus {
    // SAFETY: the runtime passes memory for the result.
    unsafe { answer(name, c"texpool".as_ptr()) }
}

unsafe extern "C" fn get_version(_: *const c_void, version: *mut LiteRtApiVersion) -> LiteRtStatus {
    // SAFETY: the runtime passes memory for the result.
    unsafe { answer(version, LiteRtApiVersion { major: 1, minor: 0, patch: 0 }) }
}

unsafe extern "C" fn get_hardware_support(_: *const c_void, hardware: *mut c_int) -> LiteRtStatus {
    // SAFETY: the runtime passes memory for the result.
    unsafe { answer(hardware, HW_ACCELERATOR_GPU) }
}

unsafe extern "C" fn is_tflite_delegate_responsible_for_jit_compilation(_: *const c_void, is: *mut u8) -> LiteRtStatus {
    // SAFETY: the runtime passes memory for the result.
    unsafe { answer(is, 1) }
}

unsafe extern "C" fn create_delegate(
    runtime: *mut LiteRtRuntimeContext,
    _: *mut c_void,
    _: *const c_void,
    _: *mut c_void,
    wrapper: *mut *mut c_void,
) -> LiteRtStatus {
    // SAFETY: the runtime passes its table, which begins with its size and version, and memory for the delegate.
    let wrap = match unsafe { runtime.cast::<LiteRtAbiHeader>().as_ref() } {
        None => return LiteRtStatus::INVALID_ARGUMENT,
        Some(header) if header.major_version != 1 => return LiteRtStatus::WRONG_VERSION,
        Some(header) if usize::from(header.struct_size) < size_of::<LiteRtRuntimeContext>() => {
            return LiteRtStatus::WRONG_VERSION;
        }
        // SAFETY: the table was checked to contain this member.
        Some(_) => unsafe { (*runtime).wrap_delegate },
    };
    let Some(wrap) = wrap else { return LiteRtStatus::WRONG_VERSION };
    let delegate = guarded(|| {
        let options = Options::parse(&options_of_environment()?)?;
        // Without a delegate, the runtime falls back to its next accelerator, and fails if no other one is allowed.
        Ok(Delegate::create(options).map_err(|reason| tell(&reason)).ok())
    });
    match delegate {
        Ok(None) => LiteRtStatus::OK,
        Ok(Some(delegate)) => {
            // SAFETY: the function is called as the runtime declares it. The runtime destroys delegates that it has
            // wrapped.
            let status = unsafe { wrap(delegate, Some(destroy), wrapper) };
            if status != LiteRtStatus::OK {
                // SAFETY: the delegate was just created, and nobody else uses it.
                unsafe { destroy(delegate) };
            }
            status
        }
        Err(reason) => {
            // The interface cannot return a message.
            tell(&reason);
            LiteRtStatus::RUNTIME_FAILURE
        }
    }
}

unsafe extern "C" fn destroy(delegate: *mut TfLiteDelegate) {
    let _ = guarded(|| {
        // SAFETY: the runtime destroys each delegate once.
        unsafe { Delegate::destroy(delegate) };
        Ok(())
    });
}

/// Returns the options in the environment variable.
fn options_of_environment() -> Result<Vec<(String, String)>, String> {
    let text = env::var(VARIABLE).unwrap_or_default();
    let pair = |one: &str| {
        let (name, value) = one.split_once('=').ok_or_else(|| format!("{VARIABLE}: `{one}` is not `name=value`"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    text.split(';').filter(|one| !one.trim().is_empty()).map(pair).collect()
}
