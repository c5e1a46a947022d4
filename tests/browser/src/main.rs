//! Runs the page in a browser without a window, and says how it went.

#[cfg(not(target_arch = "wasm32"))]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod server;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::path::Path;

    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::env::current_dir()?.join(folder),
        None => crate_folder.join("target"),
    };
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "--locked", "--lib", "--target", "wasm32-unknown-unknown"])
        .current_dir(crate_folder)
        .env("CARGO_TARGET_DIR", &target)
        // This is the check of the library for WebAssembly, too.
        .env("RUSTFLAGS", "-D warnings")
        .status()?;
    if !built.success() {
        return Err("the page does not compile".into());
    }
    let page = target.join("page");
    wasm_bindgen_cli_support::Bindgen::new()
        .input_path(target.join("wasm32-unknown-unknown/debug/texpool_browser.wasm"))
        .web(true)?
        .typescript(false)
        .generate(&page)?;
    server::serve(&page, |address| browser::Browser::start(address, &target.join("profile")))
}

#[cfg(target_arch = "wasm32")]
fn main() {}
