//! `texpool man`: writes the manual pages.

use super::{error::CliError, out};
use crate::io::{DistinctFiles, IoError, check_folder};
use clap_mangen::Man;
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder, such as `~/.local/share/man/man1`, which is made if need be.
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

#[derive(Serialize)]
struct Answer {
    files: Vec<String>,
}

pub(super) fn run(args: &Args, mut command: clap::Command, json: bool) -> Result<(), CliError> {
    check_folder(&args.folder)?;
    fs::create_dir_all(&args.folder).map_err(|e| IoError::write(&args.folder, e))?;
    command.build();
    let mut written = Vec::new();
    write(&command, &args.folder, &mut written)?;
    let files: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    if json { out::json(&Answer { files }) } else { out::text(&text) }
}

/// Writes the page of a command and those of its subcommands. `help` has none of its own.
fn write(command: &clap::Command, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let page = Man::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|e| IoError::write(&path, e))?;
    let mut files = DistinctFiles::default();
    files.writes("the page", &path)?;
    files.write(&path, &text)?;
    written.push(path);
    let mut subcommands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
    subcommands.try_for_each(|subcommand| write(subcommand, folder, written))
}
