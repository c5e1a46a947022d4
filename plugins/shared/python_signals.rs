//! Makes Ctrl-C work in a Python process whose interpreter this library is not linked to. Python's signal handler
//! only sets a flag, and `KeyboardInterrupt` is raised after the runtime's call returns. So this module looks up
//! Python's functions among the symbols of the process, and checks the flag. In a process without Python, Ctrl-C is
//! left to the host. No signal handler is installed or replaced here.

#[cfg(unix)]
pub(crate) use unix::interruptible;

/// Runs a search, which cannot be interrupted on this system.
///
/// # Errors
/// Never fails.
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

    /// Interval between checks. A check takes the interpreter's lock, which can take 5 ms if another thread is busy.
    const BETWEEN: Duration = Duration::from_millis(100);

    /// Functions of Python's C interface.
    struct Python {
        is_initialized: unsafe extern "C" fn() -> c_int,
        ensure_lock: unsafe extern "C" fn() -> c_int,
        release_lock: unsafe extern "C" fn(c_int),
        /// Returns whether Ctrl-C was pressed, and clears the flag.
        was_interrupted: unsafe extern "C" fn() -> c_int,
        /// Sets the flag for Ctrl-C.
        set_interrupt: unsafe extern "C" fn(),
    }

    impl Python {
        /// Returns the functions of the Python in this process, if there is one.
        fn of_process() -> Option<&'static Self> {
            static FOUND: OnceLock<Option<Python>> = OnceLock::new();
            FOUND.get_or_init(Self::find).as_ref()
        }

        fn find() -> Option<Self> {
            let process = Library::this();
            // SAFETY: the functions have these types in every version of Python 3, and stay loaded as long as the
            // process runs.
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

        /// Returns whether Ctrl-C was pressed. Keeps the flag set, so that Python raises `KeyboardInterrupt` after
        /// the runtime's call returns.
        fn is_interrupted(&self) -> bool {
            // SAFETY: the interpreter is initialized, and its lock is held for the checks. This is the main thread,
            // so the interpreter cannot be finalized meanwhile.
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

    /// Runs a search, and passes it a flag that becomes true on Ctrl-C; the search must check it regularly. Python
    /// reports signals only to the main thread, so the search runs on another thread while this one polls Python.
    ///
    /// # Errors
    /// Fails if the system cannot create a thread.
    pub(crate) fn interruptible<T: Send>(search: impl FnOnce(&AtomicBool) -> T + Send) -> io::Result<T> {
        let ends = AtomicBool::new(false);
        let Some(python) = Python::of_process().filter(|_| is_main_thread()) else { return Ok(search(&ends)) };
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<()>();
            let ends = &ends;
            let run = move || {
                // Dropped at the end of the search, even if it panics. This disconnects the channel and ends the loop
                // below.
                let _sender = sender;
                search(ends)
            };
            let thread = thread::Builder::new().name("texpool plan".into()).spawn_scoped(scope, run)?;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(BETWEEN) {
                if !ends.load(Ordering::Relaxed) && python.is_interrupted() {
                    ends.store(true, Ordering::Relaxed);
                }
            }
            Ok(thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)))
        })
    }
}
