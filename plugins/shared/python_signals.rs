//! Ctrl-C in a process that runs Python, whose interpreter this library is no part of: Python's own handler of a signal only
//! notes it, and what it raises waits until the runtime's call returns. Its functions are looked up among those of the
//! process. Where there are none, Ctrl-C is the host's business. No handler of a signal is installed or replaced here.

#[cfg(unix)]
pub(crate) use unix::interruptible;

/// Runs a search, which nothing ends early here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) fn interruptible<T: Send>(
    search: impl FnOnce(&std::sync::atomic::AtomicBool) -> T + Send,
) -> std::io::Result<T> {
    Ok(search(&std::sync::atomic::AtomicBool::new(false)))
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::c_int,
        io, panic,
        sync::{
            OnceLock,
            atomic::{AtomicBool, Ordering},
            mpsc::{self, RecvTimeoutError},
        },
        thread,
        time::Duration,
    };

    use libloading::os::unix::Library;

    /// How often Python is asked. It takes the interpreter's lock, for which a busy thread may have to be waited for 5 ms.
    const BETWEEN: Duration = Duration::from_millis(100);

    /// Functions of Python's C interface.
    struct Python {
        is_initialized: unsafe extern "C" fn() -> c_int,
        ensure_lock: unsafe extern "C" fn() -> c_int,
        release_lock: unsafe extern "C" fn(c_int),
        /// Whether there was a Ctrl-C, which is forgotten by that.
        was_interrupted: unsafe extern "C" fn() -> c_int,
        /// Notes a Ctrl-C.
        set_interrupt: unsafe extern "C" fn(),
    }

    impl Python {
        /// Those of the process, if it has any.
        fn of_process() -> Option<&'static Self> {
            static FOUND: OnceLock<Option<Python>> = OnceLock::new();
            FOUND.get_or_init(Self::find).as_ref()
        }

        fn find() -> Option<Self> {
            let process = Library::this();
            // SAFETY: the functions have these types in every version of Python 3, and stay as long as the process.
            unsafe {
                Some(Self {
                    is_initialized: *process.get(b"Py_IsInitialized\0").ok()?,
                    ensure_lock: *process.get(b"PyGILState_Ensure\0").ok()?,
                    release_lock: *process.get(b"PyGILState_Release\0").ok()?,
                    was_interrupted: *process.get(b"PyOS_InterruptOccurred\0").ok()?,
                    set_interrupt: *process.get(b"PyErr_SetInterrupt\0").ok()?,
                })
            }
        }

        /// Whether Ctrl-C was pressed. It stays noted, so that Python raises `KeyboardInterrupt` once the runtime's call returns.
        fn is_interrupted(&self) -> bool {
            // SAFETY: the interpreter runs, and its lock is held in between. The thread is the main one, which no end of the
            // interpreter takes by surprise.
            unsafe {
                if (self.is_initialized)() == 0 {
                    return false;
                }
                let lock = (self.ensure_lock)();
                let interrupted = (self.was_interrupted)() != 0;
                if interrupted {
                    (self.set_interrupt)();
                }
                (self.release_lock)(lock);
                interrupted
            }
        }
    }

    #[cfg(target_os = "macos")]
    fn is_main_thread() -> bool {
        unsafe extern "C" {
            safe fn pthread_main_np() -> c_int;
        }
        pthread_main_np() == 1
    }

    #[cfg(not(target_os = "macos"))]
    fn is_main_thread() -> bool {
        unsafe extern "C" {
            safe fn gettid() -> c_int;
        }
        u32::try_from(gettid()) == Ok(std::process::id())
    }

    /// Runs a search, which is handed whether it is to end early and asks that again and again: because of Ctrl-C. A search
    /// has threads of its own, and Python handles signals on the main thread alone, so this thread asks while another searches.
    ///
    /// # Errors
    /// The system's, where it gives no thread.
    pub(crate) fn interruptible<T: Send>(search: impl FnOnce(&AtomicBool) -> T + Send) -> io::Result<T> {
        let ends = AtomicBool::new(false);
        let Some(python) = Python::of_process().filter(|_| is_main_thread()) else { return Ok(search(&ends)) };
        thread::scope(|scope| {
            let (tell, told) = mpsc::channel::<()>();
            let ends = &ends;
            let run = move || {
                // Dropped at the end, also where the search panics.
                let _tell = tell;
                search(ends)
            };
            let thread = thread::Builder::new().name("texpool plan".into()).spawn_scoped(scope, run)?;
            while let Err(RecvTimeoutError::Timeout) = told.recv_timeout(BETWEEN) {
                if !ends.load(Ordering::Relaxed) && python.is_interrupted() {
                    ends.store(true, Ordering::Relaxed);
                }
            }
            Ok(thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)))
        })
    }
}
