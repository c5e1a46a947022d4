//! The command and the examples, as a user runs them.

#![cfg(test)]

#[cfg(unix)]
mod arguments;
mod command;
mod csdf;
mod examples;
#[cfg(unix)]
mod fetching;
#[cfg(unix)]
mod fresh;
mod plan;
