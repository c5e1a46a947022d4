//! The C interface of texpool. `include/texpool.h` is generated from these files; it and the README contain all that
//! a C program needs to know.
//!
//! Every exported function runs inside `guard`, which turns panics into errors, and reads its arguments through
//! `arguments`, which checks each pointer before dereferencing it.

#![allow(non_camel_case_types, reason = "the names are those of the header")]

mod arguments;
mod guard;

// These modules appear in the header, in this order.

mod version;

mod error;

mod device;

mod session;

mod describe;

mod run;

mod memory;

mod warnings;

mod planner;

mod progress;
mod tensor;

pub use describe::{
    texpool_session_find_input, texpool_session_find_output, texpool_session_input, texpool_session_input_count,
    texpool_session_output, texpool_session_output_count,
};
pub use device::{texpool_device, texpool_device_check, texpool_device_open, texpool_device_release};
pub use error::{
    texpool_error, texpool_error_message, texpool_error_release, texpool_error_status, texpool_status,
    texpool_status_name,
};
pub use memory::{texpool_memory, texpool_memory_parts, texpool_session_memory, texpool_session_trim};
pub use planner::{
    texpool_fit, texpool_placement, texpool_plan, texpool_plan_buffer, texpool_plan_descriptor, texpool_plan_gap,
    texpool_plan_pair, texpool_plan_result, texpool_proof,
};
pub use progress::{texpool_progress, texpool_progress_fn, texpool_stop};
pub use run::{texpool_input, texpool_output, texpool_session_carry, texpool_session_reset, texpool_session_run};
pub use session::{
    texpool_option, texpool_session, texpool_session_another, texpool_session_create, texpool_session_descriptor,
    texpool_session_release, texpool_session_retain, texpool_session_save_plan, texpool_session_stopped,
};
pub use tensor::{texpool_element_type, texpool_tensor_info};
pub use version::{TEXPOOL_ABI_VERSION, texpool_abi_version, texpool_version};
pub use warnings::{texpool_session_warnings, texpool_session_warnings_text, texpool_warnings};
