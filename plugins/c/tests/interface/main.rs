//! The interface, from the side of Rust: the header means the same in C and C++; and what C alone cannot bring about (a
//! device that is lost) or count (what a device holds). Programs in C are run by `plugins/c/test`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod held;
mod layout;
mod lost;
mod sine;
mod support;
