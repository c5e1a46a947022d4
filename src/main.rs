//! The `texpool` command.

fn main() {}
