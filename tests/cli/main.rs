//! The command and the examples, as a user runs them.

#![cfg(test)]

#[cfg(unix)]
mod arguments;
mod command;
mod csdf;
mod examples;
mod plan;
