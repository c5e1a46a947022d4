//! Runs on memory of the caller's.

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

/// Values of an input, in memory of the caller's, which is read where it lies and may not be changed meanwhile. Set all
/// bytes to zero, then what is wanted. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_input {
    /// The input's name; or NULL: it is meant by its index.
    pub name: *const c_char,
    /// The input's index, where it has no name here.
    pub index: usize,
    /// The first element, aligned as its type asks.
    pub data: *const c_void,
    /// Bytes that may be read from there on.
    pub bytes: usize,
    /// The type of the elements: that of the input, or TEXPOOL_F32, real numbers whatever the input's type is.
    pub element_type: u32,
    /// Number of extents and of strides, 8 at most.
    pub rank: usize,
    /// The extents, which are checked against the model's; or NULL: they are the model's.
    pub dims: *const usize,
    /// Elements from each to its neighbour along each axis; or NULL: the elements lie one behind the other, the last axis
    /// fastest. Needs dims.
    pub strides: *const usize,
}

/// Memory of the caller's for an output, into which its elements are written one behind the other, the last axis fastest.
/// Set all bytes to zero, then what is wanted. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_output {
    /// The output's name; or NULL: it is meant by its index.
    pub name: *const c_char,
    /// The output's index, where it has no name here.
    pub index: usize,
    /// Where the first element goes, aligned as its type asks. May not overlap with that of another output, or an input.
    pub data: *mut c_void,
    /// Bytes there, exactly those of the elements.
    pub bytes: usize,
    /// The type of the elements: that of the output, or TEXPOOL_F32, which gets the real numbers that were computed,
    /// before they become elements of another type.
    pub element_type: u32,
}

/// Runs the model on values, waits, and writes outputs where the caller wants them; outputs that are not named are not
/// read back. An input that is left out has the values of the last run that had some.
///
/// Where it fails, outputs hold anything; the session stays usable, but for DEVICE_LOST and INTERNAL.
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
            let given = inputs.iter().enumerate().map(|(i, input)| view(i, input)).collect::<Result<Vec<_>, _>>()?;
            let rooms = outputs.iter().enumerate().map(|(i, output)| room(i, output)).collect::<Result<Vec<_>, _>>()?;
            session.with(|session| session.run_into(given, rooms))
        }
    })
}

/// # Safety
/// The pointers are as the header says.
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
/// The pointers are as the header says.
unsafe fn room<'a>(i: usize, output: &texpool_output) -> Result<(TensorKey<'a>, TensorViewMut<'a>), Failure> {
    let &texpool_output { name, index, data, bytes, element_type } = output;
    let memory = Memory { data, bytes, element_type };
    // SAFETY: as the caller of this function promises.
    unsafe { Ok((key(name, index, &format!("outputs[{i}].name"))?, memory.room(&format!("outputs[{i}].data"))?)) }
}

/// # Safety
/// The pointer is NULL, or to a text.
unsafe fn key<'a>(name: *const c_char, index: usize, what: &str) -> Result<TensorKey<'a>, Failure> {
    if name.is_null() {
        return Ok(TensorKey::Index(index));
    }
    // SAFETY: as the caller of this function promises.
    Ok(TensorKey::Name(unsafe { text(name, what) }?))
}

/// Checks that no output's memory overlaps with that of another, or of an input: what is written there would be read.
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
