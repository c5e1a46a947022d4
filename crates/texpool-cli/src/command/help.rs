//! The form of the help texts: headings in one order with research last, examples before the options, a short `-h` and
//! a long `--help`, and lines that fit.

use super::examples;
use clap::{Arg, ArgAction, ValueHint};
use std::io::{self, IsTerminal};

/// Headings of options, in the order of every help text. Other headings come before the last one.
const HEADINGS: [&str; 7] = ["Input", "Plan", "Search", "Device", "Cache", "Output", RESEARCH];

/// Heading of options for studies of the planner, which `-h` leaves out.
pub(super) const RESEARCH: &str = "Research";

/// Subcommands by what they are for. A test compares the list with the subcommands that there are.
pub(super) const GROUPS: [(&str, &[&str]); 4] = [
    ("Run", &["run", "bench", "compare"]),
    ("Plan", &["plan", "fits", "report", "compile", "table", "explain", "csdf"]),
    ("Set up", &["models", "devices", "ceiling", "tune", "cache"]),
    ("Shell", &["completions", "man", "help"]),
];

/// Widest lines in a terminal, and widest lines elsewhere.
const WIDEST: usize = 100;
const PIPE: usize = 80;

/// Names of the arguments that take a model, a picture or an array: files, or names from the catalogue.
const FILE_OR_NAME: [&str; 4] = ["model", "models", "input", "against"];

/// Gives the command's arguments the form of their help texts.
pub(super) fn formed(root: clap::Command) -> clap::Command {
    let help = Arg::new("help").short('h').long("help").global(true).action(ArgAction::Help).help_heading("Output");
    let help = help.help("Print help (--help: all of it)");
    let root = root.disable_help_flag(true).arg(help).max_term_width(WIDEST);
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
        heading => 1 + HEADINGS.iter().position(|other| *other == heading).unwrap_or(HEADINGS.len() - 2),
    };
    let mut ids: Vec<(usize, clap::Id)> =
        command.get_arguments().map(|arg| (rank(arg), arg.get_id().clone())).collect();
    ids.sort_by_key(|(rank, _)| *rank);
    // Headings appear as their first option does, and a changed argument moves to the end. Positional arguments come first,
    // and an index keeps their order if they are changed again.
    let changed = |(position, id): (usize, clap::Id), command: clap::Command| {
        command.mut_arg(id, |arg| {
            let arg = shortened(arg);
            if arg.is_positional() { arg.index(position + 1) } else { arg }
        })
    };
    ids.into_iter().map(|(_, id)| id).enumerate().fold(command, |command, id| changed(id, command))
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
