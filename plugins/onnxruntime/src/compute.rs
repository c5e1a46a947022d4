//! Callbacks by which the runtime runs a partition.

use std::{
    ffi::c_void,
    ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use texpool::{Session, TensorView, TensorViewMut};

use crate::{
    api::{
        provider::OrtNodeComputeInfo,
        types::{ORT_API_VERSION, OrtKernelContext, OrtLogger, OrtNodeComputeContext, OrtStatus, Severity},
    },
    failure::Failure,
    graph::element_type,
    host::{Host, quiet},
    partition::Partition,
    tensors::tensor,
    views::{room, view},
};

/// The runtime runs a session from any thread, also concurrently. This asserts at compile time that partitions allow
/// that.
const fn shared_by_threads<T: Send + Sync>() {}
const _: () = shared_by_threads::<Partition>();

/// The struct that the runtime calls to run a partition.
#[repr(C)]
pub(crate) struct ComputeInfo {
    table: OrtNodeComputeInfo,
    host: Host,
    partition: Arc<Partition>,
    warnings: Arc<Warnings>,
}

/// Logs warnings about runs, once per session, for problems that do not show in the results.
#[derive(Debug)]
pub(crate) struct Warnings {
    host: Host,
    /// Logger of the session, which exists as long as the session's compiled partitions.
    logger: *const OrtLogger,
    warned: AtomicBool,
}

// SAFETY: loggers of the runtime may be used from any thread.
unsafe impl Send for Warnings {}
// SAFETY: as above.
unsafe impl Sync for Warnings {}

impl Warnings {
    pub(crate) fn new(host: Host, logger: *const OrtLogger) -> Self {
        Self { host, logger, warned: AtomicBool::new(false) }
    }

    /// Logs the warnings of the last run, unless warnings were logged before.
    fn tell(&self, session: &mut Session) -> Result<(), Failure> {
        if self.warned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let warnings = session.warnings()?;
        if !warnings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            self.host.log(self.logger, Severity::Warning, &format!("told once: {warnings}"));
        }
        Ok(())
    }
}

impl ComputeInfo {
    pub(crate) fn new(host: Host, partition: Arc<Partition>, warnings: Arc<Warnings>) -> Self {
        let table = OrtNodeComputeInfo { ort_version_supported: ORT_API_VERSION, create_state, compute, release_state };
        Self { table, host, partition, warnings }
    }

    /// Returns the pointer for the runtime, which passes it to `release` later.
    pub(crate) fn into_raw(self) -> *mut OrtNodeComputeInfo {
        Box::into_raw(Box::new(self)).cast()
    }

    /// # Safety
    /// The pointer is NULL, or it comes from `into_raw` and is not used afterwards.
    pub(crate) unsafe fn release(info: *mut OrtNodeComputeInfo) {
        if !info.is_null() {
            // SAFETY: as the caller promises.
            quiet((), || drop(unsafe { Box::from_raw(info.cast::<Self>()) }));
        }
    }
}

/// The runtime requires a state that is not NULL, but all state of a run is in the partition.
unsafe extern "system" fn create_state(
    info: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> *mut OrtStatus {
    // SAFETY: the runtime passes memory for a pointer.
    unsafe { state.write(info.cast()) };
    ptr::null_mut()
}

unsafe extern "system" fn release_state(_info: *mut OrtNodeComputeInfo, _state: *mut c_void) {}

unsafe extern "system" fn compute(
    info: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> *mut OrtStatus {
    // SAFETY: the runtime passes a pointer from `into_raw`, before it calls `release`.
    let ComputeInfo { host, partition, warnings, .. } = unsafe { &*info.cast::<ComputeInfo>() };
    // SAFETY: the context exists during the call.
    host.answer(|| unsafe { run(*host, partition, warnings, context) })
}

/// # Safety
/// The context exists.
unsafe fn run(
    host: Host,
    partition: &Partition,
    warnings: &Warnings,
    context: *mut OrtKernelContext,
) -> Result<(), Failure> {
    let mut contents = Vec::with_capacity(partition.inputs.len());
    let mut shapes = Vec::with_capacity(partition.inputs.len());
    for input in &partition.inputs {
        // SAFETY: as the caller promises.
        let (kind, dims, bytes) = unsafe { value(host, context, input.index)? };
        let kind = element_type(kind).ok_or_else(|| Failure::interface(format!("input `{}`: its type", input.name)))?;
        contents.push((input.name.as_str(), kind, bytes));
        shapes.push(dims);
    }
    for index in partition.fixed() {
        // SAFETY: as the caller promises.
        let (_, dims, bytes) = unsafe { value(host, context, index)? };
        partition.check_fixed(index, &dims, bytes)?;
    }
    partition.with(&shapes, |session| {
        let mut views: Vec<(usize, TensorView<'_>)> = Vec::with_capacity(contents.len());
        for (index, ((name, kind, bytes), dims)) in contents.iter().zip(&shapes).enumerate() {
            views.push((index, view(name, *kind, bytes, dims)?));
        }
        // SAFETY: as the caller promises.
        let rooms = unsafe { rooms(host, session, context)? };
        session.run_into(views, rooms)?;
        warnings.tell(session)
    })
}

/// Returns the type, extents and bytes of an input, which must not change meanwhile.
///
/// # Safety
/// The context exists during `'c`.
unsafe fn value<'c>(
    host: Host,
    context: *const OrtKernelContext,
    index: usize,
) -> Result<(i32, Vec<usize>, &'c [u8]), Failure> {
    let mut value = ptr::null();
    // SAFETY: as the caller promises; values exist as long as the context.
    unsafe {
        host.check((host.api.kernel_context_get_input)(context, index, &mut value))?;
        if value.is_null() {
            return Err(Failure::interface(format!("input {index} of a partition has no value")));
        }
        tensor(host, value)
    }
}

/// Returns views of the runtime's memory for all outputs that are needed.
///
/// # Safety
/// The context exists during `'r`.
unsafe fn rooms<'r>(
    host: Host,
    session: &Session,
    context: *mut OrtKernelContext,
) -> Result<Vec<(usize, TensorViewMut<'r>)>, Failure> {
    let mut rooms = Vec::with_capacity(session.outputs().len());
    for (index, output) in session.outputs().iter().enumerate() {
        let dims: Vec<i64> = output.dims.iter().map(|&extent| extent as i64).collect();
        let (mut value, mut data, mut bytes) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: as the caller promises; the runtime allocates the output and returns the address of its elements.
        unsafe {
            host.check((host.api.kernel_context_get_output)(context, index, dims.as_ptr(), dims.len(), &mut value))?;
            if value.is_null() {
                continue;
            }
            let mut kind = 0;
            let (mut extents, mut rank) = (ptr::null(), 0);
            host.check((host.api.get_tensor_element_type_and_shape_data_reference)(
                value,
                &mut kind,
                &mut extents,
                &mut rank,
            ))?;
            let extents = if rank == 0 { &[] } else { slice::from_raw_parts(extents, rank) };
            host.check((host.api.get_tensor_size_in_bytes)(value, &mut bytes))?;
            if element_type(kind) != Some(output.element_type) || extents != dims || bytes != output.bytes() {
                let (name, element_type) = (&output.name, output.element_type);
                return Err(Failure::interface(format!(
                    "output `{name}` is {element_type} of {dims:?}, and there is room for {bytes} bytes of {extents:?}"
                )));
            }
            host.check((host.api.get_tensor_mutable_data)(value, &mut data))?;
            rooms.push((index, room(&output.name, output.element_type, data.cast(), output.len())?));
        }
    }
    Ok(rooms)
}
