//! The catalogue of networks and photos that the `texpool` command fetches, as data: the package, version, size and hash
//! of each, and the script that writes ONNX files of networks that packages carry in another form.
//!
//! `texpool_cli::fetch` reads it.

#![no_std]

/// The catalogue, as JSON.
pub const CATALOG: &str = include_str!("models.json");

/// The Python script that writes models which are in no package.
pub const MAKE: &str = include_str!("make.py");

/// The packages that [`MAKE`] needs, with their hashes, in pip's format.
pub const MAKE_REQUIREMENTS: &str = include_str!("requirements.txt");
