//! Names that options take: strategies, rules and adapters, with a suggestion for a mistyped one.

use std::collections::HashSet;

use super::{error::CliError, suggestion};
use texpool_compile::option_text::{in_textures, nearest_name, parse_planner, parse_rules};
use texpool_gpu::adapters;
use texpool_model::rewrite::Rules;
use texpool_plan::{Planner, Strategy};

/// Parses the name of a strategy, and suggests one for a mistyped name.
pub(super) fn planner(text: &str) -> Result<Planner, String> {
    let names = ["best", "optimum", "banks"].into_iter().chain(Strategy::ALL.iter().map(|strategy| strategy.name()));
    parse_planner(text).map_err(|error| suggestion::with(error, text, names))
}

/// Parses the name of a strategy for textures, and suggests one for a mistyped name.
pub(super) fn texture_planner(text: &str) -> Result<Planner, String> {
    planner(text).and_then(in_textures)
}

/// Parses rules, and suggests names for mistyped ones.
pub(super) fn rules(text: &str) -> Result<Rules, String> {
    let names = || Rules::names().chain(["default", "exact", "all", "none"]);
    let wrong = text.split(',').find(|name| !names().any(|other| other == *name)).unwrap_or(text);
    parse_rules(text).map_err(|error| suggestion::with(error, wrong, names()))
}

/// Returns the first name that an earlier one equals.
pub(super) fn repeated<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Returns the error for an adapter that does not exist, with the names of those that do.
pub(super) fn no_such_adapter(name: &str) -> CliError {
    let names: Vec<String> = adapters().into_iter().map(|adapter| adapter.name).collect();
    // Part of a name selects an adapter, so a slip in one word of it is one, too.
    let words = names.iter().flat_map(|name| name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3));
    let near = nearest_name(name, names.iter().map(String::as_str).chain(words)).map(str::to_owned);
    CliError::NoSuchAdapter { name: name.to_owned(), near, there: names.join(", ") }
}
