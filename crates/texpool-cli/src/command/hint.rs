//! Adds a hint with the helpful flag to errors of the library, which does not know the flags.

use super::{conversion, error::CliError};
use crate::{
    io::{IoError, shell_word},
    setup::SetupError,
};
use std::{borrow::Cow, collections::BTreeSet, path::Path};
use texpool_compile::CompileError;
use texpool_dataflow::DataflowError;
use texpool_gpu::GpuError;
use texpool_model::import::{ImportError, UnsupportedOp};
use texpool_plan::StopReason;

/// Values of inputs that speech networks are usually run with, by their names.
const USUAL_CONSTANTS: [(&str, &str); 3] = [("sr", "16000"), ("sample_rate", "16000"), ("sampling_rate", "16000")];

/// Returns the hint for a search that was stopped.
pub(super) fn stopped(reason: Option<StopReason>) -> &'static str {
    match reason {
        // More time would not help.
        None | Some(StopReason::TooManyTensors) => "",
        Some(_) => "  --deadline SECONDS gives the search more time\n",
    }
}

/// Returns the text to append to an error.
pub(super) fn hint(error: &CliError) -> Cow<'static, str> {
    match error {
        CliError::Import { source, path, dims } => of_import(source, path, !dims.is_empty()),
        CliError::OpenExtents { line, .. } => format!("\n  bind them by --dim NAME=VALUE:\n  {line}").into(),
        CliError::Folder { path } => conversion::hint_for_folder(path).into(),
        _ => of_flag(error).into(),
    }
}

fn of_import(error: &ImportError, path: &Path, bound: bool) -> Cow<'static, str> {
    match error {
        ImportError::UnstatedShape { .. } => "\n  bind them by --dim NAME:0=VALUE --dim NAME:1=VALUE and so on".into(),
        ImportError::Unsupported(refused) => format!("{}{}", of_inputs(refused), of_extents(refused)).into(),
        ImportError::NotAModel { kind } => conversion::hint(*kind, path).into(),
        error if bound && error.may_follow_from_extents() => "\n  the extents are those of --dim; others may do".into(),
        _ => "".into(),
    }
}

/// Returns the flags that bind the inputs that decide about refused operators.
fn of_inputs(refused: &[UnsupportedOp]) -> String {
    let names = refused.iter().flat_map(|operator| &operator.inputs).map(String::as_str);
    let flag = |name: &str| {
        let usual = USUAL_CONSTANTS.iter().find(|(known, _)| *known == name.to_lowercase());
        let value = usual.map_or("VALUE", |(_, value)| value);
        format!("--constant {}", shell_word(Path::new(&format!("{name}={value}"))))
    };
    advice("a constant in place of an input", names, flag)
}

/// Returns the flags that bound the extents which refused operators take from a run.
fn of_extents(refused: &[UnsupportedOp]) -> String {
    let names = refused.iter().filter_map(|operator| operator.extent.as_deref());
    let flag = |name: &str| format!("--dim {}", shell_word(Path::new(&format!("{name}<=VALUE"))));
    advice("an upper limit of the computed extent", names, flag)
}

/// Returns the line that advises flags, one for each name. Empty if there are no names.
fn advice<'n>(remedy: &str, names: impl Iterator<Item = &'n str>, flag: impl Fn(&str) -> String) -> String {
    let flags: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().map(flag).collect();
    if flags.is_empty() { String::new() } else { format!("\n  {remedy} may do: {}", flags.join(" ")) }
}

fn of_flag(error: &CliError) -> &'static str {
    match error {
        CliError::Setup(SetupError::NotAsked { .. }) => {
            "; or give texpool the flag --install-driver to have it installed"
        }
        CliError::Setup(SetupError::Gpu(error)) | CliError::Gpu(error) => of_device(error),
        CliError::Compile(error) => of_compiler(error),
        CliError::Dataflow(DataflowError::Stopped { .. }) => " (--deadline, --phases)",
        CliError::Dataflow(DataflowError::TooManyPhases { .. }) => " (--phases)",
        CliError::Tensor { source, .. } => match **source {
            IoError::Pixels { .. } => " (--range raw)",
            _ => "",
        },
        _ => "",
    }
}

fn of_device(error: &GpuError) -> &'static str {
    match error {
        GpuError::Timeout { .. } => "; if it is at work and only slow, --timeout SECONDS gives it longer",
        GpuError::Compile(error) => of_compiler(error),
        _ => "",
    }
}

fn of_compiler(error: &CompileError) -> &'static str {
    match error {
        CompileError::Indices { .. } => " (--precision f32)",
        CompileError::Budget { stopped: Some(_), .. } | CompileError::DeviceBudget { stopped: Some(_), .. } => {
            " (--deadline)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_that_decide_are_bound_by_their_flag() {
        let refused = |inputs: &[&str]| UnsupportedOp {
            node: 0,
            name: "If_0".to_owned(),
            operator: "Conv".to_owned(),
            reason: String::new(),
            hint: String::new(),
            inputs: inputs.iter().map(|&name| name.to_owned()).collect(),
            extent: None,
        };
        let hint = of_inputs(&[refused(&["sr"]), refused(&[]), refused(&["sr", "a mode"])]);
        assert_eq!(hint, "\n  a constant in place of an input may do: --constant 'a mode=VALUE' --constant sr=16000");
        assert_eq!(of_inputs(&[refused(&[])]), "");
        let sized = UnsupportedOp { extent: Some("frames".to_owned()), ..refused(&[]) };
        let hint = of_extents(&[refused(&[]), sized.clone(), sized]);
        assert_eq!(hint, "\n  an upper limit of the computed extent may do: --dim 'frames<=VALUE'");
        assert_eq!(of_extents(&[refused(&[])]), "");
    }
}
