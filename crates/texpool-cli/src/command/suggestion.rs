//! Suggests a known name for a mistyped one.

use texpool_compile::option_text::nearest_name;

/// Returns the sentence with the suggestion.
pub(super) fn text(near: &Option<String>) -> String {
    near.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Returns the message, with a suggestion if a known name is near.
pub(super) fn with<'n>(message: String, typed: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    format!("{message}{}", text(&nearest_name(typed, names).map(str::to_owned)))
}
