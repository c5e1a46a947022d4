//! The form of the help texts: headings in one order with research last, examples before the options, a short `-h` and
//! a long `--help`, and lines that fit.

use super::{Cli, examples};
use clap::{Arg, ArgAction, CommandFactory, ValueHint};
use std::io::{self, IsTerminal};

/// Headings of options, in the order of every help text. Other headings come before the last one.
const HEADINGS: [&str; 7] = ["Input", "Plan", "Search", "Device", "Cache", "Output", RESEARCH];

/// Heading of options for studies of the planner, which `-h` leaves out.
pub(super) const RESEARCH: &str = "Research";

/// Subcommands by what they are for. A test compares the list with the subcommands that there are.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Run", &["run", "bench", "compare"]),
    ("Plan", &["plan", "fits", "report", "compile", "table", "explain", "csdf"]),
    ("Set up", &["models", "devices", "cache"]),
    ("Shell", &["completions", "man", "help"]),
];

/// Widest lines in a terminal, and widest lines elsewhere.
const WIDEST: usize = 100;
const PIPE: usize = 80;

/// Names of the arguments that take a model, a picture or an array: files, or names from the catalogue.
const FILE_OR_NAME: [&str; 4] = ["model", "models", "input", "against"];

/// Returns the command's arguments with their help texts.
pub(super) fn command() -> clap::Command {
    let help = Arg::new("help").short('h').long("help").global(true).action(ArgAction::Help).help_heading("Output");
    let help = help.help("Print help (--help: all of it)");
    let root = Cli::command().disable_help_flag(true).arg(help).max_term_width(WIDEST);
    // clap measures the terminal. Where the help goes elsewhere, it would measure that of another stream.
    let root = if io::stdout().is_terminal() { root } else { root.term_width(PIPE) };
    let last = |arg: &Arg| arg.clone().display_order(usize::MAX);
    let shared: Vec<Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).map(last).collect();
    let root = root.mut_subcommands(|subcommand| {
        let examples = examples::of(subcommand.get_name());
        let template = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";
        with_headings(subcommand, &shared).help_template(template).after_help(examples)
    });
    let groups = groups(&root);
    let style = *root.get_styles().get_header();
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{style}Options:{style:#}\n{{options}}{{after-help}}"
    ))
}

/// Lists the subcommands by their groups.
fn groups(root: &clap::Command) -> String {
    let style = root.get_styles().get_header();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text += &format!("{style}{heading}:{style:#}\n");
        for name in names {
            let about = root.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map_or("Print this text, or that of a command".to_owned(), ToString::to_string);
            text += &format!("  {name:<12} {about}\n");
        }
        text += "\n";
    }
    text
}

/// Puts the options of a command and of those below it under the headings in their order, with the `shared` ones of all
/// commands, and shortens their texts for `-h`.
fn with_headings(command: clap::Command, shared: &[Arg]) -> clap::Command {
    // clap would add the shared options itself, but after all others.
    let command = command.args(shared.iter().cloned()).mut_subcommands(|below| with_headings(below, shared));
    // Positional arguments keep their order, which decides what each means.
    let rank = |arg: &Arg| match arg.get_help_heading().unwrap_or_default() {
        _ if arg.is_positional() => 0,
        heading => 1 + HEADINGS.iter().position(|known| *known == heading).unwrap_or(HEADINGS.len() - 2),
    };
    let mut ids: Vec<(usize, clap::Id)> =
        command.get_arguments().map(|arg| (rank(arg), arg.get_id().clone())).collect();
    ids.sort_by_key(|(rank, _)| *rank);
    // Headings appear as their first option does, and a changed argument moves to the end.
    ids.into_iter().fold(command, |command, (_, id)| command.mut_arg(id, shortened))
}

/// Returns true if the value of the argument is a file.
fn takes_path(arg: &Arg) -> bool {
    FILE_OR_NAME.contains(&arg.get_id().as_str()) && arg.get_action().takes_values()
}

/// Gives an argument a text of one sentence for `-h`.
fn shortened(arg: Arg) -> Arg {
    let research = arg.get_help_heading() == Some(RESEARCH);
    let arg = if takes_path(&arg) { arg.value_hint(ValueHint::FilePath) } else { arg };
    let arg = arg.hide_short_help(research);
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    match help.split_once(". ") {
        Some((first, _)) if arg.get_long_help().is_none() => {
            let first = first.to_owned();
            arg.long_help(help).help(first)
        }
        _ => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, command};
    use crate::command::{Cli, examples};
    use clap::FromArgMatches;
    use std::collections::BTreeSet;

    fn names() -> BTreeSet<String> {
        command().get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect()
    }

    #[test]
    fn every_subcommand_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let set: BTreeSet<String> =
            grouped.iter().map(|name| (*name).to_owned()).filter(|name| name != "help").collect();
        assert_eq!(set, names());
        assert_eq!(grouped.len(), set.len() + 1, "a subcommand is listed twice");
    }

    #[test]
    fn every_example_is_understood() {
        for name in names() {
            let examples = examples::of(&name);
            let lines: Vec<&str> = examples.lines().filter_map(|line| line.strip_prefix("  texpool ")).collect();
            assert!((2..=4).contains(&lines.len()), "{name}: {examples}");
            for line in lines {
                // What a shell makes of the line: a comment and a redirection are none of the arguments.
                let line = line.split(" #").next().unwrap_or(line).split(" >").next().unwrap_or(line);
                let words = std::iter::once("texpool").chain(line.split_whitespace());
                let found = command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
                assert_eq!(found.subcommand_name(), Some(name.as_str()), "{line}");
                Cli::from_arg_matches(&found).unwrap_or_else(|e| panic!("{line}: {e}"));
            }
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        command().debug_assert();
    }
}
