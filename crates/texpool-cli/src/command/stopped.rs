//! Message and exit code for a search that ended early.

use std::time::Instant;

use super::{error::CliError, out, progress::INTERRUPTED};
use texpool_plan::StopReason;

/// Prints on standard error why the search ended early, if it did.
pub(super) fn say(stopped: Option<StopReason>, begun: Instant) {
    match stopped {
        Some(StopReason::Deadline) => {
            let seconds = begun.elapsed().as_secs_f64();
            out::stderr(&format!(
                "stopped after {seconds:.1} s, not proven; --deadline SECONDS gives it more time, `none` all it takes"
            ));
        }
        Some(StopReason::Cancelled) => out::stderr(&"cancelled: this is the best so far, not proven"),
        Some(StopReason::TooManyTensors) => {
            out::stderr(&"more tensors overlap in time than the exact search takes: this plan is not proven")
        }
        Some(_) => out::stderr(&"stopped early: this is the best plan so far, not proven"),
        None => {}
    }
}

/// Returns the result of a command whose answer is already printed.
pub(super) fn exit(stopped: Option<StopReason>, code: u8) -> Result<(), CliError> {
    match stopped {
        Some(StopReason::Cancelled) => Err(CliError::Answered(INTERRUPTED)),
        _ if code != 0 => Err(CliError::Answered(code)),
        _ => Ok(()),
    }
}
