//! Sets the soname of the shared library, by which programs load it at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number in the name equals `TEXPOOL_ABI_VERSION`, so programs linked with one version load no other.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtexpool.so.1"),
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libtexpool.1.dylib"),
        _ => {}
    }
}
