//! The cases that do not pass, as data: patterns of names with the reason in words.

use serde_json::Value;

use super::run::Outcome;

/// Cases that fail for one common reason.
pub(crate) struct Group {
    /// `failed`, `refused`, `narrowed` (64-bit floats; passes in 32 bits) or `type`.
    pub(crate) class: String,
    pub(crate) why: String,
    /// `folder/name`, where a `*` stands for any characters.
    pub(crate) cases: Vec<String>,
    /// Patterns of names that do not belong to the group.
    pub(crate) except: Vec<String>,
}

impl Group {
    /// Returns whether a case belongs to the group.
    pub(crate) fn holds(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        any(&self.cases) && !any(&self.except)
    }
}

/// Reads the committed list.
pub(crate) fn groups() -> Vec<Group> {
    let json: Value = serde_json::from_str(include_str!("../../data/onnx_nodes.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let group = |group: &Value| Group {
        class: text(&group["class"]),
        why: text(&group["why"]),
        cases: texts(&group["cases"]),
        except: texts(&group["except"]),
    };
    json.as_array().unwrap().iter().map(group).collect()
}

/// Returns whether a name matches a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|i| rest.is_char_boundary(i) && matches(after, &rest[i..]))),
    }
}

/// The class of an outcome and its reason; `None` if the case passed.
pub(crate) fn class(outcome: &Outcome) -> Option<(&'static str, &str)> {
    match outcome {
        Outcome::Passed(_) => None,
        Outcome::Failed(reason) => Some(("failed", reason)),
        Outcome::Refused(reason) => Some(("refused", reason)),
        Outcome::Narrowed(reason) => Some(("narrowed", reason)),
        Outcome::Type(reason) => Some(("type", reason)),
    }
}
