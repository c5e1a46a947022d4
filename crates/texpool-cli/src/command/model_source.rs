//! Finds a model by its file or name, with values for the extents that the file leaves open.

use super::{error::CliError, help::RESEARCH, open_extents, option_names::repeated, out, progress};
use crate::{
    fetch::{Bar, Catalog, Entry, Fetcher},
    io::{DistinctFiles, IoError, printable},
};
use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};
use texpool_compile::option_text::nearest_name;
use texpool_model::{
    delegate::{Offline, Selection, select},
    import::{
        self, Array, BoundDim, FakeQuant, ImportError, ImportOptions, Outline, OutlineSource, parse_constant,
        parse_dim, parse_fake_quant,
    },
};
use texpool_ops::graph::Graph;

/// What open extents are bound to.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Input")]
pub(super) struct BoundArgs {
    /// Set an extent that the file leaves open, by its name or by INPUT:AXIS. `NAME<=VALUE` plans an `.onnx` file for any
    /// extent up to that, and each run has that of its inputs; NAME<=VALUE:STEP for multiples of a step, such as heights
    /// of pictures. NAME may also be an integer that the network computes and uses as an extent. Repeat for each extent.
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = parse_dim)]
    dims: Vec<(String, BoundDim)>,
    /// Turn an input into a constant, such as a sample rate: sr=16000. Several numbers are separated
    /// by commas, and one is repeated. Repeat for each input.
    #[arg(long = "constant", value_name = "INPUT=NUMBER", value_parser = parse_constant)]
    constants: Vec<(String, Array)>,
}

/// How a file is read.
#[derive(Debug, Default, clap::Args)]
pub(super) struct DimArgs {
    #[command(flatten)]
    bound: BoundArgs,
    /// Compute with 8-bit integers as ONNX Runtime and XNNPACK do (`on`) or as TensorFlow Lite's reference kernels do
    /// (`reference`), or only clamp reals to their range (`off`).
    #[arg(
        long,
        value_name = "on|reference|off",
        default_value = "on",
        value_parser = parse_fake_quant,
        hide_possible_values = true,
        help_heading = RESEARCH
    )]
    fake_quant: FakeQuant,
}

/// A model's file, with the values for its open extents.
#[derive(Debug)]
pub(super) struct ModelSource {
    pub(super) path: PathBuf,
    /// The catalogue's entry, if the model was given by a name of the catalogue.
    entry: Option<Entry>,
    options: ImportOptions,
    /// The `--dim` flags of the user, for messages.
    flags: String,
}

impl DimArgs {
    /// See [`BoundArgs::find`].
    pub(super) fn find(&self, text: &OsStr) -> Result<ModelSource, CliError> {
        let mut source = self.bound.find(text)?;
        source.options.fake_quant = self.fake_quant;
        Ok(source)
    }
}

/// Returns an error if a flag gives a name two values.
fn check_named_once<T>(flag: &str, values: &[(String, T)]) -> Result<(), CliError> {
    repeated(values.iter().map(|(name, _)| name.as_str())).map_or(Ok(()), |name| {
        let name = printable(name);
        Err(CliError::Usage(format!("{flag} says twice what `{name}` is; leave one out")))
    })
}

impl BoundArgs {
    /// Finds the model: an existing file, or else the catalogue entry with that name, downloaded if necessary. The
    /// catalogue's extents apply unless the user gives others.
    pub(super) fn find(&self, text: &OsStr) -> Result<ModelSource, CliError> {
        check_named_once("--dim", &self.dims)?;
        check_named_once("--constant", &self.constants)?;
        let (path, entry) = locate(text)?;
        let constants = self.constants.iter().cloned().collect();
        let mut options = ImportOptions { constants, ..ImportOptions::default() };
        for (name, extent) in &self.dims {
            options.bind(name, *extent);
        }
        // The user's values take precedence over the catalogue's.
        for (name, &extent) in entry.iter().flat_map(|entry| &entry.dims) {
            options.bind(name, BoundDim::Is(extent));
        }
        let flag = |(name, extent): &(String, BoundDim)| format!("--dim {name}{extent}");
        let flags = self.dims.iter().map(flag).collect::<Vec<_>>().join(" ");
        Ok(ModelSource { path, entry, options, flags })
    }
}

impl ModelSource {
    /// Reads the model.
    pub(super) fn import(&self) -> Result<Graph, CliError> {
        self.import_apart(&mut DistinctFiles::default())
    }

    /// Imports the model for a call that also writes `files`. Returns an error if one of them is a file of the model.
    pub(super) fn import_apart(&self, files: &mut DistinctFiles) -> Result<Graph, CliError> {
        files.reads("the model", &self.path)?;
        let read = |options: &ImportOptions| {
            progress::during("reading the model", || import::open_listing(&self.path, options))
        };
        let read = read(&self.options).or_else(|error| match open_extents::with_batch_of_one(&error, &self.options) {
            Some((options, note)) => {
                // Before reading, since another batch may help if that fails.
                out::stderr(&note);
                read(&options)
            }
            None => Err(error),
        });
        let (mut graph, beside) = read.map_err(|source| self.failed(source))?;
        for path in beside {
            files.reads("the model's values", &path)?;
        }
        // The graph is named after its file, and some reports print the name unescaped.
        graph.name = printable(&graph.name).to_string();
        Ok(graph)
    }

    /// Selects the nodes that a delegate takes. Also returns the nodes as in the file, even if some are not supported.
    pub(super) fn select(&self, min_operations: u64) -> Result<(Outline, Vec<Selection>), CliError> {
        let source = OutlineSource::open(&self.path, &self.options);
        let selected = source.and_then(|source| select(&source, min_operations, &mut Offline));
        selected.map_err(|source| self.failed(source))
    }

    /// Returns the catalogue's entry for the model, found by its name or by the file's contents.
    pub(super) fn catalogue_entry(&self) -> Option<Entry> {
        let bar = Bar::default();
        self.entry.clone().or_else(|| Fetcher::new(&bar).ok()?.entry_of(&self.path).cloned())
    }

    /// Returns the name of the file without the extension.
    pub(super) fn name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        printable(&*stem).to_string()
    }

    fn failed(&self, source: ImportError) -> CliError {
        match source {
            source @ ImportError::Read { .. } => CliError::Unreadable(Box::new(source)),
            source @ (ImportError::NoSuchInput { .. } | ImportError::NoConstantInputs { .. }) => {
                CliError::Usage(format!("--constant: {source}"))
            }
            source @ ImportError::FixedDims { .. } => CliError::Usage(format!("--dim: {source}")),
            source @ (ImportError::NoSuchDim { .. } | ImportError::CannotBind { .. }) => {
                CliError::Usage(format!("--dim: {source}; {}", self.open_extents()))
            }
            ImportError::UnresolvedDim(open) => {
                let usual = self.catalogue_entry().map(|entry| entry.dims).unwrap_or_default();
                CliError::OpenExtents { path: self.path.clone(), line: open_extents::line(&open, &usual), open }
            }
            source => CliError::Import { path: self.path.clone(), dims: self.flags.clone(), source: Box::new(source) },
        }
    }

    /// Lists the extents that can be bound.
    fn open_extents(&self) -> String {
        // Imports the model again without `--dim`, because the resulting error lists all open extents.
        match import::open(&self.path) {
            Err(ImportError::UnresolvedDim(open)) => {
                let names: Vec<String> = open.iter().map(ToString::to_string).collect();
                format!("the model leaves open: {}", names.join(", "))
            }
            Err(ImportError::UnstatedShape { input }) => {
                let input = printable(&input);
                format!("the model leaves open the shape of `{input}`: bind `{input}:0`, `{input}:1` and so on")
            }
            _ => "the model states every extent itself, so leave --dim out".to_owned(),
        }
    }
}

/// Finds an existing file, standard input for `-`, or else the catalogue entry with that name, downloaded if necessary.
pub(super) fn file_or_name(text: &OsStr) -> Result<PathBuf, CliError> {
    if text != "-" {
        return Ok(locate(text)?.0);
    }
    if cfg!(not(unix)) {
        return Err(CliError::Usage("standard input is not read on this system; name a file".into()));
    }
    if io::stdin().is_terminal() {
        return Err(CliError::Usage(
            "standard input is a terminal; `-` reads what another program writes, or a file behind `<`".into(),
        ));
    }
    Ok("/dev/stdin".into())
}

/// Finds the file, and its catalogue entry if it is from the catalogue.
fn locate(text: &OsStr) -> Result<(PathBuf, Option<Entry>), CliError> {
    let path = Path::new(text);
    let metadata = fs::metadata(path);
    // A folder is neither a model nor a photo, so it does not hide a catalogue entry of the same name.
    if metadata.as_ref().is_ok_and(|metadata| !metadata.is_dir()) {
        return Ok((path.into(), None));
    }
    let catalog = Catalog::builtin()?;
    if let Some(entry) = text.to_str().and_then(|name| catalog.entry(name).ok()) {
        let bar = Bar::default();
        return Ok((Fetcher::new(&bar)?.get(&entry.name)?, Some(entry.clone())));
    }
    let absent = |e: &io::Error| matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match metadata {
        Ok(_) => Err(CliError::Folder { path: path.into() }),
        Err(e) if !absent(&e) => Err(IoError::read(path, e).into()),
        // A path or an extension means that the user did not mean a catalogue name.
        Err(_) if path.components().count() > 1 || path.extension().is_some_and(|e| !e.is_empty()) => {
            Err(CliError::NoSuchPath { path: path.into() })
        }
        Err(_) => {
            let names = catalog.files.iter().map(|entry| entry.name.as_str());
            let near = text.to_str().and_then(|text| nearest_name(text, names)).map(str::to_owned);
            Err(CliError::NoSuchFile { text: OsString::from(text), near })
        }
    }
}
