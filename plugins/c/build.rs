//! Gives the shared library the name by which programs ask for it at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The first number is that of `TEXPOOL_ABI_VERSION`: programs that were linked with one load no other.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtexpool.so.1"),
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libtexpool.1.dylib"),
        _ => {}
    }
}
