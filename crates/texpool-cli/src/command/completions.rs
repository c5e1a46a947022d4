//! `texpool completions`: prints the script by which a shell completes the command's arguments.

use super::{error::CliError, out};
use crate::fetch::{Catalog, Kind};
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use serde::Serialize;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell.
    shell: Shell,
}

#[derive(Serialize)]
struct Answer {
    shell: String,
    script: String,
}

pub(super) fn run(args: &Args, mut command: clap::Command, json: bool) -> Result<(), CliError> {
    // bash completes from a list and falls back to files. Other shells would offer the names alone, and no files.
    if args.shell == Shell::Bash {
        let names = |kinds: &[Kind]| -> Result<Vec<String>, CliError> {
            let listed = Catalog::builtin()?.files.into_iter().filter(|entry| kinds.contains(&entry.kind));
            Ok(listed.map(|entry| entry.name).collect())
        };
        let (models, pictures, all) = (names(&[Kind::Model])?, names(&[Kind::Picture])?, Catalog::builtin()?);
        let all: Vec<String> = all.files.into_iter().map(|entry| entry.name).chain(["all".to_owned()]).collect();
        let with_names = |command: clap::Command| {
            let lists = [("model", &models), ("models", &models), ("input", &pictures), ("names", &all)];
            lists.into_iter().fold(command, |command, (id, names)| {
                let takes = |arg: &clap::Arg| arg.get_id() == id && arg.get_action().takes_values();
                let has = command.get_arguments().any(takes);
                let listed = |arg: clap::Arg| arg.value_parser(PossibleValuesParser::new(names.clone()));
                if has { command.mut_arg(id, listed) } else { command }
            })
        };
        command = command.mut_subcommands(|subcommand| with_names(subcommand.mut_subcommands(with_names)));
    }
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "texpool", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if json { out::json(&Answer { shell: args.shell.to_string(), script }) } else { out::verbatim(&script) }
}
