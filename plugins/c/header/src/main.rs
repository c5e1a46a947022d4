//! Checks that `include/texpool.h` matches the header that cbindgen generates from the sources. With the argument
//! `write`, overwrites the file instead.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml"))?;
    let mut header = Vec::new();
    cbindgen::generate_with_config(&package, config)?.write(&mut header);
    let header = String::from_utf8(header)?;
    let path = package.join("include/texpool.h");
    if env::args().nth(1).as_deref() == Some("write") {
        return Ok(fs::write(&path, &header)?);
    }
    let committed = fs::read_to_string(&path)?;
    if committed == header {
        return Ok(());
    }
    let line = committed.lines().zip(header.lines()).take_while(|(a, b)| a == b).count() + 1;
    let write = "cargo run --manifest-path plugins/c/header/Cargo.toml -- write";
    Err(format!("{}: line {line} is not what the sources make; `{write}` writes the header anew", path.display())
        .into())
}
