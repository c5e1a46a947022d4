//! Sets a linker option of the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The runtime unloads the library when it is unregistered, but threads of the graphics driver may still be
    // executing its code.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
