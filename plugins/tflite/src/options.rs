//! Options that a user passes to the delegate, as names and strings.

use std::path::PathBuf;

use texpool::{NamedOptions, OptionError};
use texpool_model::delegate::MIN_OPERATIONS;

/// Options of texpool and of the delegate.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) named: NamedOptions,
    /// If true, leaving a node to the runtime is an error.
    pub(crate) whole_graph: bool,
    /// If true, the selection is printed to standard error.
    pub(crate) verbose: bool,
    /// File for a report on the selection.
    pub(crate) report: Option<PathBuf>,
    /// Fewest elementary operations of a part, unless the part is the whole graph.
    pub(crate) min_operations: u64,
}

/// An option of texpool that has another name here.
const DEVICE: (&str, &str) = ("device", "adapter");
/// Default time limit for the search for a plan, in seconds, because an application waits for it.
const DEADLINE: (&str, &str) = ("deadline", "30");
/// Options of texpool that have no meaning here, and what the runtime gives inputs instead.
const OF_OTHER_FILES: [(&str, &str); 2] = [("dim", "extents"), ("constant", "values")];

impl Options {
    /// Parses options, in any order.
    pub(crate) fn parse(options: &[(String, String)]) -> Result<Self, String> {
        let mut own = Own::default();
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (name, text) in options {
            let name = if name == DEVICE.0 { DEVICE.1 } else { name };
            if let Some((_, given)) = OF_OTHER_FILES.iter().find(|(other, _)| *other == name) {
                return Err(format!("option `{name}` is for .onnx files: the runtime gives inputs their {given}"));
            }
            if !own.take(name, text)? {
                pairs.push((name, text));
            }
        }
        if !pairs.iter().any(|(name, _)| *name == DEADLINE.0) {
            pairs.push(DEADLINE);
        }
        let named = NamedOptions::parse(pairs.iter().copied()).map_err(|error| match error {
            unknown @ OptionError::Unknown { .. } => format!("{unknown}, device, {}", Own::NAMES.join(", ")),
            other => other.to_string(),
        })?;
        let Own { whole_graph, verbose, report, min_operations } = own;
        let (whole_graph, verbose) = (whole_graph.unwrap_or(false), verbose.unwrap_or(false));
        let min_operations = min_operations.unwrap_or(MIN_OPERATIONS);
        Ok(Self { named, whole_graph, verbose, report, min_operations })
    }
}

/// Options that only the delegate has.
#[derive(Default)]
struct Own {
    whole_graph: Option<bool>,
    verbose: Option<bool>,
    report: Option<PathBuf>,
    min_operations: Option<u64>,
}

impl Own {
    const NAMES: [&str; 4] = ["whole_graph", "min_operations", "report", "verbose"];

    /// Parses an option. Returns whether it is one of these.
    fn take(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let twice = || Err(format!("option `{name}` is given twice"));
        match name {
            "whole_graph" | "verbose" => {
                let place = if name == "verbose" { &mut self.verbose } else { &mut self.whole_graph };
                if place.replace(switch(name, text)?).is_some() {
                    return twice();
                }
            }
            "min_operations" => {
                let number = text.parse().map_err(|_| format!("option `{name}`: `{text}` is no whole number"))?;
                if self.min_operations.replace(number).is_some() {
                    return twice();
                }
            }
            "report" if text.is_empty() => return Err("option `report`: it must name a file".to_owned()),
            "report" => {
                if self.report.replace(text.into()).is_some() {
                    return twice();
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parses a boolean. Python passes `True`, other languages `1` or `on`.
fn switch(name: &str, text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Ok(true),
        "0" | "false" | "off" | "no" => Ok(false),
        _ => Err(format!("option `{name}`: `{text}` is neither 0 nor 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(options: &[(&str, &str)]) -> Result<Options, String> {
        let owned: Vec<_> = options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Options::parse(&owned)
    }

    #[test]
    fn options_are_those_of_texpool_and_of_the_delegate() {
        let options = parse(&[("device", "llvmpipe"), ("whole_graph", "True"), ("precision", "f16")]).unwrap();
        assert_eq!(options.named.gpu().adapter.as_deref(), Some("llvmpipe"));
        assert!(options.whole_graph && !options.verbose);
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        for (options, message) in [
            (&[("speed", "high")][..], "there is no option `speed`"),
            (&[("min_operations", "-1")], "option `min_operations`: `-1` is no whole number"),
            (&[("verbose", "2")], "option `verbose`: `2` is neither 0 nor 1"),
            (&[("verbose", "1"), ("verbose", "1")], "option `verbose` is given twice"),
            (&[("device", "a"), ("adapter", "b")], "option `adapter` is given twice"),
            (&[("dim", "n=1")], "option `dim` is for .onnx files"),
            (&[("constant", "n=1")], "option `constant` is for .onnx files"),
            (&[("report", "")], "option `report`: it must name a file"),
            (&[("budget", "much")], "option `budget`: `much` is no size"),
        ] {
            let error = parse(options).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        assert!(
            parse(&[("speed", "high")]).unwrap_err().ends_with("device, whole_graph, min_operations, report, verbose")
        );
    }
}
