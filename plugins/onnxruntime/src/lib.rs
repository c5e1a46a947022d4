//! texpool as an execution provider of ONNX Runtime: a library that an unmodified runtime loads.
//!
//! Modules in dependency order, where each uses only earlier ones: the runtime's interface (`api`), errors and the
//! runtime's tables (`failure`, `host`), graphs and writing them as models (`graph`, `onnx`, `groups`, `extents`,
//! `integers`), the selection of nodes (`survey`), options and devices of a session (`options`, `devices`), Ctrl-C
//! (`python_signals`), running partitions (`views`, `partition`, `budget`), tests of nodes on the device (`trials`),
//! reading the runtime's graphs (`tensors`, `attribute`, `read_graph`), the report (`report`), and the callbacks
//! (`compute`, `provider`, `factory`).

mod api;

mod failure;

mod host;

mod graph;

mod extents;
mod onnx;

mod survey;

mod devices;
mod options;
#[path = "../../shared/python_signals.rs"]
mod python_signals;

mod partition;
mod views;

mod trials;

mod budget;

mod tensors;

mod attribute;

mod read_graph;
mod report;

mod compute;

mod provider;

mod factory;

use std::{ffi::c_char, ptr};

use api::{
    provider::OrtEpFactory,
    tables::OrtApiBase,
    types::{ErrorCode, OrtLogger, OrtStatus},
};
use factory::Factory;
use failure::Failure;
use host::{Host, quiet};

/// Called by the runtime when the library is registered.
///
/// # Safety
/// The arguments satisfy the requirements of `onnxruntime_ep_c_api.h`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is the runtime's")]
pub(crate) unsafe extern "system" fn CreateEpFactories(
    _registered_name: *const c_char,
    base: *const OrtApiBase,
    _logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    room: usize,
    count: *mut usize,
) -> *mut OrtStatus {
    // SAFETY: as the caller promises.
    let host = match unsafe { Host::new(base) } {
        Ok(host) => host,
        Err(status) => return status,
    };
    host.answer(|| {
        if room == 0 || factories.is_null() || count.is_null() {
            return Err(Failure::new(ErrorCode::InvalidArgument, "there is no room for a factory"));
        }
        // SAFETY: `room` and the pointers were just checked.
        unsafe {
            factories.write(Factory::new(host).into_raw());
            count.write(1);
        }
        Ok(())
    })
}

/// Called by the runtime when the library is unregistered.
///
/// # Safety
/// The arguments satisfy the requirements of `onnxruntime_ep_c_api.h`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is the runtime's")]
pub(crate) unsafe extern "system" fn ReleaseEpFactory(factory: *mut OrtEpFactory) -> *mut OrtStatus {
    // SAFETY: as the caller promises, the factory was created here, and is released once.
    quiet((), || unsafe { Factory::release(factory) });
    ptr::null_mut()
}
