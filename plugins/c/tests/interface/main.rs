//! Tests of the interface from Rust. They check that the header means the same in C and C++, and cover cases that C
//! cannot trigger (a lost device) or measure (objects on a device). `plugins/c/test` runs the C programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod held;
mod layout;
mod lost;
mod sine;
mod support;
