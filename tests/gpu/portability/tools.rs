//! Other compilers, as packaged by Debian.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Runs `spirv-val` on each module and returns the errors.
pub(super) fn spirv_val(modules: &[(PathBuf, &'static str, String)]) -> Vec<String> {
    let check = |(file, environment, who): &(PathBuf, &'static str, String)| {
        let mut command = Command::new("spirv-val");
        command.args(["--target-env", environment]).arg(file);
        refusal(command, "spirv-tools").map(|words| format!("{who}: spirv-val for {environment}: {words}"))
    };
    modules.iter().filter_map(check).collect()
}

/// Runs glslang's HLSL front end on each source and returns the errors.
pub(super) fn glslang(sources: &[(PathBuf, String)]) -> Vec<String> {
    let check = |(file, who): &(PathBuf, String)| {
        let mut command = Command::new("glslangValidator");
        command.args(["-D", "-V", "-S", "comp", "-e", "main", "-o"]).arg(file.with_extension("spv")).arg(file);
        refusal(command, "glslang-tools").map(|words| format!("{who}: glslang: {words}"))
    };
    sources.iter().filter_map(check).collect()
}

/// Returns the tool's output if it refuses its input. If it is not installed, names the package that has it.
fn refusal(mut command: Command, package: &str) -> Option<String> {
    let tool = Path::new(command.get_program()).display().to_string();
    match command.output() {
        Err(e) => Some(format!("{tool} does not run ({e}); `apt-get install {package}` installs it")),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()),
    }
}
