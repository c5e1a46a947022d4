//! The command and the examples, as a user runs them.

#![cfg(test)]

mod command;
mod csdf;
mod examples;
mod plan;
