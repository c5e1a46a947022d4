//! Describes the inputs and outputs of a session's model.

use std::ffi::c_char;

use crate::{
    arguments::{room, text, write},
    error::{Failure, texpool_error, texpool_status},
    guard::{answer, quiet},
    session::{NamedTensor, texpool_session, used},
    tensor::texpool_tensor_info,
};

/// Returns the number of inputs; 0 if session is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_input_count(session: *const texpool_session) -> usize {
    // SAFETY: the header says what the pointer must be.
    quiet(0, || unsafe { used(session) }.map_or(0, |session| session.inputs.len()))
}

/// Returns the number of outputs; 0 if session is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_output_count(session: *const texpool_session) -> usize {
    // SAFETY: the header says what the pointer must be.
    quiet(0, || unsafe { used(session) }.map_or(0, |session| session.outputs.len()))
}

/// Writes a description of an input to *info, whose struct_size must be set.
///
/// Errors: NO_SUCH_TENSOR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_input(
    session: *const texpool_session,
    index: usize,
    info: *mut texpool_tensor_info,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe { describe(info, index, "input", &used(session)?.inputs) })
}

/// Writes a description of an output to *info, whose struct_size must be set.
///
/// Errors: NO_SUCH_TENSOR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_output(
    session: *const texpool_session,
    index: usize,
    info: *mut texpool_tensor_info,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe { describe(info, index, "output", &used(session)?.outputs) })
}

/// # Safety
/// The pointer is NULL, or it points to a struct that begins with its size.
unsafe fn describe(
    info: *mut texpool_tensor_info,
    index: usize,
    role: &str,
    tensors: &[NamedTensor],
) -> Result<(), Failure> {
    let tensor = tensors.get(index).ok_or_else(|| {
        let message = format!("the model has no {role} {index}; it has {}", tensors.len());
        Failure::new(texpool_status::TEXPOOL_ERROR_NO_SUCH_TENSOR, message)
    })?;
    // SAFETY: as the caller of this function promises.
    unsafe { write(info, |size| Ok(texpool_tensor_info::new(size, tensor))) }
}

/// Finds the index of the input with this name.
///
/// Errors: NO_SUCH_TENSOR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_find_input(
    session: *const texpool_session,
    name: *const c_char,
    index: *mut usize,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe {
        let session = used(session)?;
        let model = session.compiled().model();
        let input = model.input(text(name, "name")?)?;
        position(model.inputs(), input, room(index, "index")?);
        Ok(())
    })
}

/// Finds the index of the output with this name.
///
/// Errors: NO_SUCH_TENSOR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_find_output(
    session: *const texpool_session,
    name: *const c_char,
    index: *mut usize,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe {
        let session = used(session)?;
        let model = session.compiled().model();
        let output = model.output(text(name, "name")?)?;
        position(model.outputs(), output, room(index, "index")?);
        Ok(())
    })
}

fn position(all: &[texpool_rust::TensorInfo], tensor: &texpool_rust::TensorInfo, index: &mut usize) {
    // `tensor` always comes from `all`.
    *index = all.iter().position(|one| std::ptr::eq(one, tensor)).unwrap_or_default();
}
