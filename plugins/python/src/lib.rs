//! The part of the Python package `texpool` that is Rust. What users see is in `python/texpool`, which checks arguments
//! and gives results names; here values go in and out, and nothing that takes long holds the interpreter.

mod array;
mod device;
mod errors;
mod interrupt;
mod memory;
mod model;
mod options;
mod planner;
mod search;
mod session;
mod slot;
mod values;

/// The module `texpool._texpool`.
#[pyo3::pymodule]
mod _texpool {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::{
        device::list_adapters,
        interrupt::panic_for_tests,
        model::frontier,
        planner::{plan, strategies},
        session::Session,
    };
}
