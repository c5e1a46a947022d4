//! Options of a session: those of texpool by name, and two that only this provider has.

use std::{collections::BTreeMap, path::PathBuf};

use texpool::{NamedOptions, OptionError};
use texpool_model::delegate::MIN_OPERATIONS;

use crate::{api::types::ErrorCode, failure::Failure, survey::Reading};

/// Parsed options of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) named: NamedOptions,
    /// Options for reading models.
    pub(crate) reading: Reading,
    /// File for a report on selected nodes and their costs.
    pub(crate) report: Option<PathBuf>,
    /// If true, the log lists each node that is left.
    pub(crate) verbose: bool,
}

/// Default time limit for the search for a plan, in seconds, because an application waits for it.
const DEADLINE: (&str, &str) = ("deadline", "30");

/// Options that only this provider has.
const OWN: &str = "min_operations, report, verbose";

/// The runtime's option for writing a file that contains the compiled nodes.
const WRITE_COMPILED: &str = "ep.context_enable";

/// Option that is preset for each device, and that users may override.
pub(crate) const ADAPTER: &str = "adapter";

impl Options {
    /// Parses options. The value of `dim` may contain several extents, separated by commas.
    pub(crate) fn parse<'o>(options: impl IntoIterator<Item = (&'o str, &'o str)>) -> Result<Self, Failure> {
        let mut parsed = Self::default();
        let mut others = Vec::new();
        let mut min_operations = MIN_OPERATIONS;
        for (name, text) in options {
            match name {
                "verbose" => parsed.verbose = switch(name, text)?,
                "min_operations" => {
                    min_operations =
                        text.parse().map_err(|_| wrong(format!("option `{name}`: `{text}` is no whole number")))?;
                }
                "report" if text.is_empty() => return Err(wrong("option `report`: it must name a file")),
                "report" => parsed.report = Some(text.into()),
                "constant" => {
                    return Err(wrong(
                        "option `constant`: the runtime gives inputs their values; make it an initializer",
                    ));
                }
                "dim" => others.extend(text.split(',').map(|one| (name, one.trim()))),
                _ => others.push((name, text)),
            }
        }
        if !others.iter().any(|(name, _)| *name == DEADLINE.0) {
            others.push(DEADLINE);
        }
        parsed.named = NamedOptions::parse(others).map_err(|error| match error {
            OptionError::Unknown { .. } => wrong(format!("{error}, {OWN}")),
            _ => Failure::from(error),
        })?;
        let import = parsed.named.import();
        if let Some(name) = import.bounds.keys().next() {
            return Err(wrong(format!(
                "option `dim`: bind `{name}` to a number; the runtime states the extents of each run"
            )));
        }
        parsed.reading = Reading { dims: import.dims.clone(), fake_quant: import.fake_quant, min_operations };
        Ok(parsed)
    }

    /// Parses the session's entries for this provider: those that begin with its prefix.
    pub(crate) fn of_session(entries: &BTreeMap<String, String>, provider: &str) -> Result<Self, Failure> {
        if entries.get(WRITE_COMPILED).is_some_and(|text| text == "1") {
            let message = format!("models with compiled nodes in them are not written; leave `{WRITE_COMPILED}` out");
            return Err(Failure::new(ErrorCode::NotImplemented, message));
        }
        let prefix = format!("ep.{}.", provider.to_lowercase());
        let own = entries.iter().filter_map(|(key, text)| Some((key.strip_prefix(&prefix)?, &**text)));
        Self::parse(own)
    }
}

fn switch(name: &str, text: &str) -> Result<bool, Failure> {
    match text {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err(wrong(format!("option `{name}`: `{text}` is neither `on` nor `off`"))),
    }
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::Options;

    #[test]
    fn a_sessions_entries_are_taken_by_their_prefix() {
        let entries = [
            ("ep.texpoolexecutionprovider.budget", "2MiB"),
            ("ep.texpoolexecutionprovider.dim", "batch=2, length=5"),
            ("ep.texpoolexecutionprovider.report", "report.txt"),
            ("ep.texpoolexecutionprovider.verbose", "on"),
            ("ep.other.budget", "none of ours"),
            ("session.disable_prepacking", "1"),
        ];
        let entries: BTreeMap<String, String> = entries.map(|(key, text)| (key.into(), text.into())).into();
        let options = Options::of_session(&entries, "TexpoolExecutionProvider").unwrap();
        assert_eq!((options.verbose, options.report.as_deref()), (true, Some(Path::new("report.txt"))));
        assert_eq!(options.named.of_plan(), Some("budget"));
        let dims: Vec<_> = options.reading.dims.iter().map(|(name, &extent)| (&**name, extent)).collect();
        assert_eq!(dims, [("batch", 2), ("length", 5)]);
    }

    #[test]
    fn an_extent_is_a_number() {
        let error = Options::parse([("dim", "batch=2,length<=5")]).unwrap_err().message;
        assert!(error.contains("bind `length` to a number"), "{error}");
    }

    /// There is a default deadline because an application waits for the plan. Programs that compile a model
    /// themselves have none.
    #[test]
    fn a_search_has_a_deadline_unless_another_is_said() {
        let deadline = |options: &[(&str, &str)]| {
            let parsed = format!("{:?}", Options::parse(options.iter().copied()).unwrap().named);
            parsed.split("deadline: ").nth(1).unwrap().split([',', ' ']).next().unwrap().to_owned()
        };
        assert_eq!(deadline(&[]), "Some(30s)");
        assert_eq!(deadline(&[("deadline", "5")]), "Some(5s)");
        assert_eq!(deadline(&[("deadline", "none")]), "None");
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        for (option, message) in [
            (("speed", "high"), "there is no option `speed`; there are: adapter"),
            (("speed", "high"), "cache_dir, min_operations, report, verbose"),
            (("budget", "much"), "option `budget`: `much` is no size"),
            (("min_operations", "few"), "option `min_operations`: `few` is no whole number"),
            (("verbose", "2"), "option `verbose`: `2` is neither `on` nor `off`"),
            (("report", ""), "option `report`: it must name a file"),
            (("dim", "batch"), "option `dim`: write NAME=VALUE"),
            (("constant", "sr=1"), "option `constant`: the runtime gives inputs their values"),
        ] {
            let failure = Options::parse([option]).unwrap_err();
            assert!(failure.message.contains(message), "{}", failure.message);
        }
    }
}
