//! The `texpool` command.

fn main() -> std::process::ExitCode {
    texpool::cli::main()
}
