//! A model by its file or its name, and the extents that the file leaves open.

use super::CliError;
use crate::{
    fetch::{Bar, Entry, FetchError, Fetcher},
    graph::Graph,
    import::{self, ImportOptions},
};
use std::{collections::BTreeMap, path::PathBuf};

/// What open extents are bound to.
#[derive(Debug, Default, clap::Args)]
pub(super) struct DimArgs {
    /// Bind an extent that an .onnx file leaves open, by its name, or by INPUT:AXIS; once for each.
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    dims: Vec<(String, usize)>,
}

/// A name and the extent that it is bound to.
fn dim(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = text.rsplit_once('=').ok_or_else(|| "it must be NAME=VALUE".to_owned())?;
    match extent.parse() {
        Ok(extent) if extent > 0 && !name.is_empty() => Ok((name.to_owned(), extent)),
        _ => Err(format!("`{extent}` is no extent")),
    }
}

/// A model's file, and what its open extents are bound to.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    options: ImportOptions,
}

impl DimArgs {
    /// A file as it is; else what the catalogue has under that name, fetched if need be, with the catalogue's extents where
    /// no others are given.
    pub(super) fn find(&self, text: &str) -> Result<Found, CliError> {
        let (path, mut dims) = known(text)?;
        dims.extend(self.dims.iter().cloned());
        Ok(Found { path, options: ImportOptions { dims, ..ImportOptions::default() } })
    }
}

impl Found {
    /// Reads the model.
    pub(super) fn import(&self) -> Result<Graph, CliError> {
        import::open_with(&self.path, &self.options)
            .map_err(|source| CliError::Import { path: self.path.clone(), source: Box::new(source) })
    }
}

/// A file as it is; else what the catalogue has under that name, fetched if need be.
pub(super) fn file_or_name(text: &str) -> Result<PathBuf, CliError> {
    Ok(known(text)?.0)
}

/// Also the extents that the catalogue names.
fn known(text: &str) -> Result<(PathBuf, BTreeMap<String, usize>), CliError> {
    let path = PathBuf::from(text);
    if path.exists() {
        return Ok((path, BTreeMap::new()));
    }
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    match fetcher.get(text) {
        Err(FetchError::UnknownName { known, .. }) => Err(CliError::NoSuchFile { text: text.into(), known }),
        got => {
            let dims = |entry: &Entry| entry.dims.clone();
            Ok((got?, fetcher.catalog.entry(text).map(dims).unwrap_or_default()))
        }
    }
}
