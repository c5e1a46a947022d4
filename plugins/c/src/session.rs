//! Sessions: created from a model and options or from a saved plan, then shared, duplicated and released.

use std::{
    ffi::{CString, c_char, c_void},
    mem::ManuallyDrop,
    path::Path,
    ptr,
    sync::{Arc, Mutex},
};

use texpool_rust::{CompiledModel, Context, Error, GpuError, Model, NamedOptions, Session, TensorInfo};

use crate::{
    arguments::{SizedStruct, borrowed, bytes_of, copy_out, read, room, text, values},
    device::texpool_device,
    error::{Failure, texpool_error, texpool_status},
    guard::{answer, quiet},
    progress::{Listener, stop, texpool_progress_fn, texpool_stop},
};

/// An option: a name and a value, both UTF-8 strings. The README lists them. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_option {
    /// Name of the option, such as "budget".
    pub name: *const c_char,
    /// Value of the option, such as "2MiB".
    pub value: *const c_char,
}

/// Parameters for creating a session. Set all bytes to zero, then struct_size and the fields you need. Only a model
/// is required, as a file or as bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_session_descriptor {
    /// sizeof(texpool_session_descriptor).
    pub struct_size: usize,
    /// Device to share with other sessions; or NULL, in which case the session opens a private device, using the
    /// options "adapter" and "timeout".
    pub device: *const texpool_device,
    /// Path of a .tflite or .onnx file; or NULL. A file larger than 1 GiB must not change while the session exists.
    pub model_path: *const c_char,
    /// Contents of such a file, which are copied; or NULL. Exactly one of model_path and model_data must be given.
    pub model_data: *const c_void,
    /// Size of model_data, in bytes.
    pub model_bytes: usize,
    /// Plan that texpool_session_save_plan wrote for this model; or NULL to search for a plan according to the
    /// options.
    pub plan_data: *const c_void,
    /// Size of plan_data, in bytes.
    pub plan_bytes: usize,
    /// Array of options.
    pub options: *const texpool_option,
    /// Number of options.
    pub option_count: usize,
    /// Receives the progress of the search for a plan; or NULL.
    pub progress: texpool_progress_fn,
    /// Passed to the callback.
    pub user_data: *mut c_void,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are valid pointers and numbers that request nothing.
unsafe impl SizedStruct for texpool_session_descriptor {
    const NAME: &'static str = "texpool_session_descriptor";
}

/// A model on a device, planned and ready to run. Any thread may use it at any time. Calls that run it, read its
/// memory usage or trim it wait for each other; all other calls return without waiting.
///
/// Sessions are reference-counted: texpool_session_create and texpool_session_another return one reference,
/// texpool_session_retain adds one, texpool_session_release drops one. A call in progress holds its own reference. So
/// a session may be released while another thread is in a call with it: the call completes normally, then frees the
/// session's memory. No call may start after the last release.
pub struct texpool_session {
    session: Mutex<Session>,
    compiled: CompiledModel,
    pub(crate) inputs: Vec<NamedTensor>,
    pub(crate) outputs: Vec<NamedTensor>,
}

/// An input or output together with its name as a C string.
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

    /// Locks the session and passes it to `use_it`.
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Failure> {
        if self.compiled.context().is_inherited() {
            // In a forked child, the lock would stay locked forever if another thread of the parent held it.
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

    /// Converts the session into the pointer that a caller receives.
    fn into_raw(self) -> *mut Self {
        Arc::into_raw(Arc::new(self)).cast_mut()
    }
}

/// Takes a reference to a session for the duration of a call, so that another thread may release the session
/// meanwhile.
///
/// # Safety
/// The pointer is NULL, or it points to a session that is not yet released at the time of this call.
pub(crate) unsafe fn used(session: *const texpool_session) -> Result<Arc<texpool_session>, Failure> {
    // SAFETY: as the caller of this function promises, so the pointer comes from `Arc::into_raw`. `ManuallyDrop`
    // leaves the caller's reference in place.
    unsafe {
        borrowed(session, "session")?;
        Ok(Arc::clone(&ManuallyDrop::new(Arc::from_raw(session))))
    }
}

/// Parsed options.
pub(crate) struct Options(NamedOptions);

impl Options {
    /// Parses options.
    ///
    /// # Safety
    /// The pointer is NULL, or it points to `count` options, whose pointers are NULL or point to strings.
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

    /// Fails if `of` returns the name of an option that is not allowed here.
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

/// Creates a session: reads the model, opens a device unless one is given, searches for a plan unless one is given,
/// and allocates the pool and weights on the device. This may take seconds. Release the session with
/// texpool_session_release.
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
/// All pointers of the descriptor satisfy the header's requirements.
unsafe fn compiled(descriptor: &texpool_session_descriptor) -> Result<CompiledModel, Failure> {
    let &texpool_session_descriptor { device, plan_data, plan_bytes, options, option_count, .. } = descriptor;
    // SAFETY: as the caller of this function promises.
    let options = unsafe { Options::read(options, option_count) }?;
    let named = options.named();
    // Read the model first, so that its errors are reported even without a device.
    // SAFETY: as the caller of this function promises.
    let model = unsafe { model(descriptor, named) }?;
    let context: Context = if device.is_null() {
        named.open()?
    } else {
        options.refuse(NamedOptions::of_device, "is for opening a device, and one is given")?;
        // SAFETY: as the caller of this function promises.
        named.with_folder(unsafe { borrowed(device, "device") }?.context().clone())
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
/// All pointers of the descriptor satisfy the header's requirements.
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

/// Converts a path in the system's encoding: any bytes on Unix, UTF-8 elsewhere.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Result<&Path, Failure> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// Converts a path in the system's encoding: any bytes on Unix, UTF-8 elsewhere.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Result<&Path, Failure> {
    str::from_utf8(bytes).map(Path::new).map_err(|_| Failure::argument("model_path is not UTF-8"))
}

/// Creates another session with the same model, plan and device. The two share only the weights on the device and the
/// compiled shaders, so they may run concurrently.
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

/// Adds a reference to a session, for another thread or another owner. Does nothing if session is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_retain(session: *const texpool_session) {
    if !session.is_null() {
        // SAFETY: the pointer comes from `Arc::into_raw`, and the caller holds a reference.
        unsafe { Arc::increment_strong_count(session) };
    }
}

/// Drops a reference to a session; the last one frees the session and all its device memory. Does nothing if session
/// is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_release(session: *mut texpool_session) {
    if !session.is_null() {
        // SAFETY: the pointer comes from `Arc::into_raw`, and the caller drops this reference once.
        quiet((), || drop(unsafe { Arc::from_raw(session.cast_const()) }));
    }
}

/// Writes the session's plan, a few kilobytes, which texpool_session_create accepts as plan_data instead of
/// searching. Sets *bytes to the size of the plan. If capacity is smaller, nothing is written: call it with capacity
/// 0 first to get the size.
///
/// Errors: ARGUMENT if capacity is neither 0 nor sufficient.
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
        // SAFETY: the header says what the pointer must be.
        unsafe { copy_out((&plan, "the plan"), (buffer.cast(), "buffer"), capacity, bytes) }
    })
}

/// Returns the texpool_stop that tells why the search for the session's plan ended. Unless it is TEXPOOL_STOP_NONE, a
/// smaller plan may exist. Returns TEXPOOL_STOP_NONE if session is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_stopped(session: *const texpool_session) -> texpool_stop {
    let none = texpool_stop::TEXPOOL_STOP_NONE;
    // SAFETY: the header says what the pointer must be.
    quiet(none, || unsafe { used(session) }.map_or(none, |session| stop(session.compiled().stopped())))
}
