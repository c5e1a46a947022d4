//! The `texpool` command, and the parts that it is made of.
//!
//! `cargo install --path crates/texpool-cli` installs the command; the repository's `docs/command.md` describes it. A
//! program that runs networks depends on the crate [`texpool`] alone. The modules here are public for the repository's
//! examples and tests, and may change with any version.

pub mod answer;
mod command;
pub mod fetch;
pub mod io;
pub mod page;
pub mod report;
pub mod setup;

pub use command::main;
