//! The `texpool` command.

fn main() -> std::process::ExitCode {
    texpool_cli::main()
}
