//! The report as a page: one HTML file with its styles, its scripts and its data, which opens without a network.
//!
//! [`ReportPage`] collects graphs, schedules and plans; [`ReportPage::html`] joins them with the page's files, which
//! lie beside this one and are written by hand.

mod column;
mod data;
mod graph;
mod plan;
mod schedule;

use std::fmt::Write;

pub use data::{FrontPlan, MeasuredRun, ReportPage};
pub use plan::PlanGroup;

/// The page without styles, scripts and data.
const PAGE: &str = include_str!("page.html");
const STYLES: &str = include_str!("page.css");

/// The scripts, in the order in which they use each other: each idea in one file. Joined, they are one script.
const SCRIPTS: [&str; 13] = [
    include_str!("format.js"),
    include_str!("data.js"),
    include_str!("checker.js"),
    include_str!("state.js"),
    include_str!("map.js"),
    include_str!("gestures.js"),
    include_str!("table.js"),
    include_str!("graph.js"),
    include_str!("panels.js"),
    include_str!("front.js"),
    include_str!("search.js"),
    include_str!("export.js"),
    include_str!("main.js"),
];

impl ReportPage {
    /// Returns the page.
    ///
    /// # Errors
    /// A [`serde_json::Error`] if the data cannot be written as JSON.
    pub fn html(&self) -> Result<String, serde_json::Error> {
        // `<` occurs in strings only, where `\u003c` is the same character. Without it, no name ends the script.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        let title = escaped(&self.model);
        let scripts = SCRIPTS.concat();
        let mut html = String::with_capacity(PAGE.len() + STYLES.len() + scripts.len() + data.len());
        let mut rest = PAGE;
        // Filled in from left to right, so that a name or a source with a mark in it is not filled in again.
        for (mark, text) in
            [("{{title}}", &title[..]), ("{{styles}}", STYLES), ("{{data}}", &data), ("{{scripts}}", &scripts)]
        {
            let Some((before, after)) = rest.split_once(mark) else { continue };
            html.push_str(before);
            html.push_str(text);
            rest = after;
        }
        html.push_str(rest);
        Ok(html)
    }
}

/// Escapes text for HTML, also the control characters that it does not allow.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            // Writing to a string cannot fail.
            c if c.is_control() => drop(write!(html, "\\u{{{:x}}}", u32::from(c))),
            c => html.push(c),
        }
    }
    html
}
