//! Runs sessions on memory of the caller.

use std::{
    ffi::{c_char, c_void},
    ops::Range,
};

use texpool_rust::{TensorKey, TensorView, TensorViewMut};

use crate::{
    arguments::{text, values},
    error::{Failure, texpool_error, texpool_status},
    guard::answer,
    session::{texpool_session, used},
    tensor::Memory,
};

/// Values of an input, read directly from the caller's memory, which must not change during the call. Set all bytes
/// to zero, then the fields you need. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_input {
    /// Name of the input, or NULL to identify it by index.
    pub name: *const c_char,
    /// Index of the input, used if name is NULL.
    pub index: usize,
    /// The first element. Must be aligned for the element type.
    pub data: *const c_void,
    /// Number of bytes that may be read from data.
    pub bytes: usize,
    /// Type of the elements: either the type of the input, or TEXPOOL_F32 to pass real numbers for any type of input.
    pub element_type: u32,
    /// Number of extents and of strides, at most 8.
    pub rank: usize,
    /// Extents, which must match the model's; or NULL to use the model's.
    pub dims: *const usize,
    /// Distance in elements between neighbours along each axis; or NULL if the elements are dense, with the last axis
    /// fastest. Requires dims.
    pub strides: *const usize,
}

/// Memory of the caller that receives the elements of an output, dense, with the last axis fastest. Set all bytes to
/// zero, then the fields you need. This struct does not change.
///
/// An output whose extent depends on values, such as the boxes that a detector finds, is described with the most that
/// its extent can be. Elements behind the extent that a run finds are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_output {
    /// Name of the output, or NULL to identify it by index.
    pub name: *const c_char,
    /// Index of the output, used if name is NULL.
    pub index: usize,
    /// Destination of the first element. Must be aligned for the element type, and must not overlap the memory of
    /// another output or of an input.
    pub data: *mut c_void,
    /// Size of the memory, which must be exactly that of the elements.
    pub bytes: usize,
    /// Type of the elements: either the type of the output, or TEXPOOL_F32 to receive the computed real numbers
    /// before they are converted to another type.
    pub element_type: u32,
}

/// Runs the model, waits for the result, and writes the requested outputs; other outputs are not read back. An input
/// that is not passed keeps its values from the last run that set them.
///
/// If the run fails, the contents of outputs are unspecified. The session stays usable, except after DEVICE_LOST and
/// INTERNAL.
///
/// Errors: ARGUMENT, NO_SUCH_TENSOR, ELEMENT_TYPE, SHAPE, VALUE, INPUTS, DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_run(
    session: *const texpool_session,
    inputs: *const texpool_input,
    input_count: usize,
    outputs: *const texpool_output,
    output_count: usize,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        unsafe {
            let session = used(session)?;
            let inputs = values(inputs, input_count, "inputs")?;
            let outputs = values(outputs, output_count, "outputs")?;
            check_apart(inputs, outputs)?;
            let views = inputs.iter().enumerate().map(|(i, input)| view(i, input)).collect::<Result<Vec<_>, _>>()?;
            let rooms = outputs.iter().enumerate().map(|(i, output)| room(i, output)).collect::<Result<Vec<_>, _>>()?;
            session.with(|session| session.run_into(views, rooms))
        }
    })
}

/// Lets the values of an output become those of an input at the next run: the state of a network that is called again
/// and again. Both are identified by name. The input begins with the values that it has, or with zeros if it has none,
/// and need not be passed to runs; values that are passed all the same replace the state for a run. With the option
/// `stream` "none" the state stays on the device; otherwise it passes through the host. texpool_session_trim does not
/// free it.
///
/// Errors: NO_SUCH_TENSOR; SHAPE and ELEMENT_TYPE if the two differ; INPUTS if the input already gets an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_carry(
    session: *const texpool_session,
    output: *const c_char,
    input: *const c_char,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let (session, output, input) = unsafe { (used(session)?, text(output, "output")?, text(input, "input")?) };
        session.with(|session| session.carry(output, input))
    })
}

/// Lets the inputs of texpool_session_carry begin with zeros at the next run, and variables of the model with the values
/// that its file gives them. To begin with other values, pass them to that run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_reset(
    session: *const texpool_session,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what the pointer must be.
        let session = unsafe { used(session) }?;
        session.with(|session| {
            session.reset();
            Ok(())
        })
    })
}

/// # Safety
/// The pointers satisfy the header's requirements.
unsafe fn view<'a>(i: usize, input: &texpool_input) -> Result<(TensorKey<'a>, TensorView<'a>), Failure> {
    let &texpool_input { name, index, data, bytes, element_type, rank, dims, strides } = input;
    let what = |field: &str| format!("inputs[{i}].{field}");
    let axes = |pointer: *const usize, field: &str| match pointer.is_null() {
        true => Ok(None),
        // SAFETY: as the caller of this function promises.
        false => unsafe { values(pointer, rank, &what(field)) }.map(Some),
    };
    let (dims, strides) = (axes(dims, "dims")?, axes(strides, "strides")?);
    if dims.is_none() && strides.is_some() {
        return Err(Failure::argument(format!("{} are given without dims", what("strides"))));
    }
    let memory = Memory { data, bytes, element_type };
    // SAFETY: as the caller of this function promises.
    unsafe { Ok((key(name, index, &what("name"))?, memory.view(dims, strides, &what("data"))?)) }
}

/// # Safety
/// The pointers satisfy the header's requirements.
unsafe fn room<'a>(i: usize, output: &texpool_output) -> Result<(TensorKey<'a>, TensorViewMut<'a>), Failure> {
    let &texpool_output { name, index, data, bytes, element_type } = output;
    let memory = Memory { data, bytes, element_type };
    // SAFETY: as the caller of this function promises.
    unsafe { Ok((key(name, index, &format!("outputs[{i}].name"))?, memory.room(&format!("outputs[{i}].data"))?)) }
}

/// # Safety
/// The pointer is NULL, or it points to a string.
unsafe fn key<'a>(name: *const c_char, index: usize, what: &str) -> Result<TensorKey<'a>, Failure> {
    if name.is_null() {
        return Ok(TensorKey::Index(index));
    }
    // SAFETY: as the caller of this function promises.
    Ok(TensorKey::Name(unsafe { text(name, what) }?))
}

/// Checks that no output overlaps another output or an input, since writing it would change data that is still
/// needed.
fn check_apart(inputs: &[texpool_input], outputs: &[texpool_output]) -> Result<(), Failure> {
    let range = |data: *const c_void, bytes: usize| data.addr()..data.addr().saturating_add(bytes);
    let read = |input: &texpool_input| range(input.data, input.bytes);
    let written = |output: &texpool_output| range(output.data, output.bytes);
    let overlap = |a: Range<usize>, b: Range<usize>| a.start < b.end && b.start < a.end;
    for (i, output) in outputs.iter().enumerate() {
        let failure = |other: String| Err(Failure::argument(format!("outputs[{i}].data overlaps with {other}.data")));
        if let Some(at) = outputs[..i].iter().position(|other| overlap(written(output), written(other))) {
            return failure(format!("outputs[{at}]"));
        }
        if let Some(at) = inputs.iter().position(|input| overlap(written(output), read(input))) {
            return failure(format!("inputs[{at}]"));
        }
    }
    Ok(())
}
