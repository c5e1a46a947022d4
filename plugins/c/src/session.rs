//! Sessions: created from a model and options, or a saved plan; shared, copied and released.

use std::{
    ffi::{CString, c_char, c_void},
    mem::ManuallyDrop,
    path::Path,
    ptr,
    sync::{Arc, Mutex},
};

use texpool_rust::{CompiledModel, Context, Error, GpuError, Model, NamedOptions, Session, TensorInfo};

use crate::{
    arguments::{SizedStruct, bytes_of, held, read, room, text, values, values_mut},
    device::texpool_device,
    error::{Failure, texpool_error, texpool_status},
    guard::{answer, quiet},
    progress::{Listener, stop, texpool_progress_fn, texpool_stop},
};

/// An option: a name and a text, both in UTF-8. The README lists them. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_option {
    /// Such as "budget".
    pub name: *const c_char,
    /// Such as "2MiB".
    pub value: *const c_char,
}

/// What a session is created from. Set all bytes to zero, then struct_size and what is wanted: a model by its file or by
/// its bytes, and nothing else is needed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_session_descriptor {
    /// sizeof(texpool_session_descriptor).
    pub struct_size: usize,
    /// A device that the session shares, or NULL: it opens one of its own, as the options "adapter" and "timeout" say.
    pub device: *const texpool_device,
    /// A .tflite or .onnx file; or NULL. One of more than 1 GiB must not change while the session is there.
    pub model_path: *const c_char,
    /// The bytes of such a file, which are copied; or NULL. Either these or a file must be given.
    pub model_data: *const c_void,
    /// How many bytes there are.
    pub model_bytes: usize,
    /// What texpool_session_save_plan wrote for this model, or NULL: a plan is searched for, as the options say.
    pub plan_data: *const c_void,
    /// How many bytes there are.
    pub plan_bytes: usize,
    /// Options.
    pub options: *const texpool_option,
    /// How many options there are.
    pub option_count: usize,
    /// Told how far the search for a plan is; or NULL.
    pub progress: texpool_progress_fn,
    /// Handed to it.
    pub user_data: *mut c_void,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are pointers and numbers that ask for nothing.
unsafe impl SizedStruct for texpool_session_descriptor {
    const NAME: &'static str = "texpool_session_descriptor";
}

/// A model on a device, planned and ready to run. Any thread may use it at any time: calls that run it, look at its
/// memory or give that back wait for each other, all others do not.
///
/// It is counted who uses it: texpool_session_create and texpool_session_another answer with one use, texpool_session_retain
/// adds one, texpool_session_release takes one back. A call that is under way has a use of its own, so a session may be
/// released while another thread is in a call with it: the call ends as ever, and gives the session's memory back. No call
/// may begin after the last release.
pub struct texpool_session {
    session: Mutex<Session>,
    compiled: CompiledModel,
    pub(crate) inputs: Vec<NamedTensor>,
    pub(crate) outputs: Vec<NamedTensor>,
}

/// An input or output with its name as C has it.
pub(crate) struct NamedTensor {
    pub(crate) name: CString,
    pub(crate) info: TensorInfo,
}

impl texpool_session {
    fn new(compiled: CompiledModel) -> Result<Self, Failure> {
        let session = Mutex::new(compiled.session()?);
        let named = |info: &TensorInfo| {
            let name = CString::new(info.name.replace('\0', "\u{fffd}")).unwrap_or_default();
            NamedTensor { name, info: info.clone() }
        };
        let inputs = compiled.inputs().iter().map(named).collect();
        let outputs = compiled.outputs().iter().map(named).collect();
        Ok(Self { session, compiled, inputs, outputs })
    }

    /// Uses the session, by one thread at a time.
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Failure> {
        if self.compiled.context().is_inherited() {
            // In a forked child nobody gives the lock back that another thread of the parent has.
            return Err(Error::Gpu(GpuError::Forked).into());
        }
        let mut session = self.session.lock().map_err(|_| {
            let message = "an earlier call with this session met a defect of texpool; release it";
            Failure::new(texpool_status::TEXPOOL_ERROR_INTERNAL, message)
        })?;
        Ok(use_it(&mut session)?)
    }

    pub(crate) fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// What a caller gets of it.
    fn into_raw(self) -> *mut Self {
        Arc::into_raw(Arc::new(self)).cast_mut()
    }
}

/// A use of a session for as long as a call takes, so that it may be released meanwhile.
///
/// # Safety
/// The pointer is NULL, or to a session that is not released when this is called.
pub(crate) unsafe fn used(session: *const texpool_session) -> Result<Arc<texpool_session>, Failure> {
    // SAFETY: as the caller of this function promises, so it is of `Arc::into_raw`; that use of it stays the caller's.
    unsafe {
        held(session, "session")?;
        Ok(Arc::clone(&ManuallyDrop::new(Arc::from_raw(session))))
    }
}

/// Options that were read.
pub(crate) struct Options(NamedOptions);

impl Options {
    /// Reads options.
    ///
    /// # Safety
    /// The pointer is NULL, or to as many options, whose pointers are NULL or to texts.
    pub(crate) unsafe fn read(options: *const texpool_option, count: usize) -> Result<Self, Failure> {
        // SAFETY: as the caller of this function promises.
        let options = unsafe { values(options, count, "options") }?;
        let mut pairs = Vec::with_capacity(options.len());
        for (index, option) in options.iter().enumerate() {
            // SAFETY: as the caller of this function promises.
            unsafe {
                let name = text(option.name, &format!("options[{index}].name"))?;
                pairs.push((name, text(option.value, &format!("options[{index}].value"))?));
            }
        }
        Ok(Self(NamedOptions::parse(pairs)?))
    }

    pub(crate) fn named(&self) -> &NamedOptions {
        &self.0
    }

    /// Refuses the first option that `of` finds.
    pub(crate) fn refuse(
        &self,
        of: impl FnOnce(&NamedOptions) -> Option<&'static str>,
        why: &str,
    ) -> Result<(), Failure> {
        match of(&self.0) {
            Some(name) => Err(Failure::new(texpool_status::TEXPOOL_ERROR_OPTION, format!("option `{name}` {why}"))),
            None => Ok(()),
        }
    }
}

/// Creates a session: reads the model, opens the device where none is given, searches for a plan or takes the one that is
/// given, and puts pool and weights on the device. That may take seconds. Release it with texpool_session_release.
///
/// Errors: OPTION, FILE, MODEL, SAVED_PLAN, BUDGET, PLAN, NO_ADAPTER, DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_create(
    descriptor: *const texpool_session_descriptor,
    session: *mut *mut texpool_session,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        unsafe {
            let out = room(session, "session")?;
            *out = ptr::null_mut();
            *out = texpool_session::new(compiled(&read(descriptor)?)?)?.into_raw();
        }
        Ok(())
    })
}

/// # Safety
/// Each pointer of the descriptor is as the header says.
unsafe fn compiled(descriptor: &texpool_session_descriptor) -> Result<CompiledModel, Failure> {
    let &texpool_session_descriptor { device, plan_data, plan_bytes, options, option_count, .. } = descriptor;
    // SAFETY: as the caller of this function promises.
    let options = unsafe { Options::read(options, option_count) }?;
    let named = options.named();
    // What is wrong with the model is told without a device.
    // SAFETY: as the caller of this function promises.
    let model = unsafe { model(descriptor, named) }?;
    let context: Context = if device.is_null() {
        named.open()?
    } else {
        options.refuse(NamedOptions::of_device, "is for opening a device, and one is given")?;
        // SAFETY: as the caller of this function promises.
        named.with_folder(unsafe { held(device, "device") }?.context().clone())
    };
    if !plan_data.is_null() {
        options.refuse(NamedOptions::of_plan, "is for searching a plan, and one is given")?;
        // SAFETY: as the caller of this function promises.
        return Ok(context.load(&model, unsafe { values(plan_data.cast::<u8>(), plan_bytes, "plan_data") }?)?);
    }
    let listener = Listener::new(descriptor.progress, descriptor.user_data);
    let builder = context.compile(&model).named_options(named);
    Ok(builder.progress(move |progress| listener.tell(progress)).build()?)
}

/// # Safety
/// Each pointer of the descriptor is as the header says.
unsafe fn model(descriptor: &texpool_session_descriptor, options: &NamedOptions) -> Result<Model, Failure> {
    let &texpool_session_descriptor { model_path, model_data, model_bytes, .. } = descriptor;
    match (model_path.is_null(), model_data.is_null()) {
        (false, true) => {
            // SAFETY: as the caller of this function promises.
            let path = unsafe { bytes_of(model_path, "model_path") }?;
            Ok(Model::open_with(path_of(path)?, options.import())?)
        }
        (true, false) => {
            // SAFETY: as the caller of this function promises.
            let bytes = unsafe { values(model_data.cast::<u8>(), model_bytes, "model_data") }?;
            Ok(Model::from_bytes_with(bytes, options.import())?)
        }
        (true, true) => Err(Failure::argument("model_path and model_data are both NULL: give one of them")),
        (false, false) => Err(Failure::argument("model_path and model_data are both given: give one of them")),
    }
}

/// A path as the system has it: any bytes on Unix, UTF-8 elsewhere.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Result<&Path, Failure> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// A path as the system has it: any bytes on Unix, UTF-8 elsewhere.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Result<&Path, Failure> {
    str::from_utf8(bytes).map(Path::new).map_err(|_| Failure::argument("model_path is not UTF-8"))
}

/// Creates another session of the same model, plan and device. Both share the weights on the device and the compiled
/// shaders, and nothing else: they may run side by side.
///
/// Errors: DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_another(
    session: *const texpool_session,
    another: *mut *mut texpool_session,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let (out, session) = unsafe { (room(another, "another")?, used(session)?) };
        *out = ptr::null_mut();
        *out = texpool_session::new(session.compiled().clone())?.into_raw();
        Ok(())
    })
}

/// Adds a use of a session, for another thread or another owner. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_retain(session: *const texpool_session) {
    if !session.is_null() {
        // SAFETY: it is of `Arc::into_raw`, and the caller has a use of it.
        unsafe { Arc::increment_strong_count(session) };
    }
}

/// Takes a use of a session back; the last one releases it and all that it has on the device. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_release(session: *mut texpool_session) {
    if !session.is_null() {
        // SAFETY: it is of `Arc::into_raw`, and the caller gives this use back once.
        quiet((), || drop(unsafe { Arc::from_raw(session.cast_const()) }));
    }
}

/// Writes the session's plan, some kilobytes, which texpool_session_create takes as plan_data in place of a search. *bytes
/// becomes how many bytes it has; where capacity is less, nothing is written: call it with capacity 0 first.
///
/// Errors: ARGUMENT where capacity is neither 0 nor enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_save_plan(
    session: *const texpool_session,
    buffer: *mut c_void,
    capacity: usize,
    bytes: *mut usize,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let (session, bytes) = unsafe { (used(session)?, room(bytes, "bytes")?) };
        let plan = session.compiled().save();
        *bytes = plan.len();
        match capacity {
            0 => Ok(()),
            _ if capacity < plan.len() => {
                Err(Failure::argument(format!("the plan has {} bytes, and capacity is {capacity}", plan.len())))
            }
            _ => {
                // SAFETY: the header says what the pointer must be.
                unsafe { values_mut(buffer.cast::<u8>(), plan.len(), "buffer") }?.copy_from_slice(&plan);
                Ok(())
            }
        }
    })
}

/// Why the search for the session's plan ended, a texpool_stop: where it is not TEXPOOL_STOP_NONE, a smaller plan may
/// exist. TEXPOOL_STOP_NONE of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_stopped(session: *const texpool_session) -> texpool_stop {
    let none = texpool_stop::TEXPOOL_STOP_NONE;
    // SAFETY: the header says what the pointer must be.
    quiet(none, || unsafe { used(session) }.map_or(none, |session| stop(session.compiled().stopped())))
}
