//! The Rust part of the Python package `texpool`. The public API is in `python/texpool`, which validates arguments
//! and turns results into named objects. This module passes plain values in and out, and releases the interpreter's
//! lock during long operations.

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
        model::pareto_front,
        planner::{plan, strategies},
        session::Session,
    };
}
