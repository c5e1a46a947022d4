//! Reads a model's outputs as an answer: by the catalogue's decoding, or as classes if the user names them.

use super::{error::CliError, model_source::ModelSource, out, timing::RunOutputs};
use crate::{
    answer::{Answer, Classes, DecodeError, Decoding, Output, View},
    fetch::{Bar, Entry, Fetcher},
    io::{check_picture_name, printable, read_text},
};
use std::path::{Path, PathBuf};
use texpool_model::import::{self, ImportOptions};
use texpool_ops::graph::Graph;

/// What is shown of an answer.
#[derive(Debug, clap::Args)]
pub(super) struct AnswerArgs {
    /// Names of the classes, one a line. Default: by the catalogue's entry of the model.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    labels: Option<PathBuf>,
    /// Show this number of classes, boxes or points.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Output")]
    top: Option<u16>,
    /// Draw the answer on the picture and write it to this PNG file.
    #[arg(long, value_name = "FILE.png", help_heading = "Output")]
    pub(super) draw: Option<PathBuf>,
}

/// Decoding of a model's outputs, with the user's options.
pub(super) struct Reading {
    decoding: Option<Decoding>,
    /// Names of the classes.
    names: Option<Vec<String>>,
    /// The file with the names, if the user gave one.
    labels_file: Option<PathBuf>,
    /// The catalogue's list of names that is not on this machine.
    missing: Option<String>,
    top: Option<usize>,
}

/// The answer, or the reason why there is none.
pub(super) enum Reply {
    Answer(Answer),
    /// Nothing is known about the outputs.
    Unknown,
    /// The decoding does not fit them.
    Undecoded(String),
}

impl AnswerArgs {
    /// Returns the file with names, if one is given.
    pub(super) fn labels(&self) -> Option<&Path> {
        self.labels.as_deref()
    }

    /// Refuses a name of a drawing that does not end in `.png`, and a drawing of several pictures in one file.
    pub(super) fn check(&self, pictures: usize) -> Result<(), CliError> {
        let Some(draw) = &self.draw else { return Ok(()) };
        check_picture_name(draw, "png").map_err(|e| CliError::Usage(e.to_string()))?;
        if pictures > 1 {
            return Err(CliError::Usage(format!(
                "--draw draws one picture, and {pictures} were given; run them apart"
            )));
        }
        Ok(())
    }

    /// Returns how the outputs of a model are read. Its labels are fetched if the model is one of the catalogue by name.
    pub(super) fn reading(&self, model: &ModelSource, entry: Option<&Entry>) -> Result<Reading, CliError> {
        let top = self.top.map(usize::from);
        let published = entry.and_then(|entry| entry.decoding.as_ref()).map(|published| published.how.clone());
        let mut reading = Reading { decoding: published, names: None, labels_file: None, missing: None, top };
        if let Some(path) = &self.labels {
            reading.names = Some(lines(&read_text(path)?));
            reading.labels_file = Some(path.clone());
            // The user says that the output has classes.
            reading.decoding = reading.decoding.or(Some(Decoding::Classes(Classes::default())));
        } else if let Some(name) = reading.decoding.as_ref().and_then(Decoding::names_in_file) {
            let dims = entry.map(|entry| entry.dims.clone()).unwrap_or_default();
            let options = ImportOptions { dims, ..ImportOptions::default() };
            // The model was imported before, so an error here would be a change of the file in between.
            let read = import::open_with_metadata(&model.path, &options);
            reading.names = read.ok().and_then(|(_, facts)| Some(lines(facts.custom.get(name)?)));
        } else if let Some(entry) = entry {
            (reading.names, reading.missing) = published_names(model, entry);
        }
        Ok(reading)
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Returns the class names of a catalogue's model, or the entry with the names if they are not on this machine.
fn published_names(model: &ModelSource, entry: &Entry) -> (Option<Vec<String>>, Option<String>) {
    let Some(labels) = &entry.labels else { return (None, None) };
    let bar = Bar::default();
    let Ok(fetcher) = Fetcher::new(&bar) else { return (None, Some(labels.entry.clone())) };
    let here = fetcher.catalog.entry(&labels.entry).ok().and_then(|list| fetcher.find(list));
    let path = match here {
        // Whoever runs a model by its name wants the names of its classes too. A file of one's own starts no download.
        None if fetcher.is_own(&model.path, entry) => match fetcher.labels_of(entry) {
            Ok(path) => path,
            Err(error) => {
                out::stderr(&format!("warning: the names of the classes could not be fetched: {error}"));
                None
            }
        },
        here => here,
    };
    match path.and_then(|path| read_text(&path).ok()) {
        Some(text) => (Some(text.lines().skip(labels.first).map(str::to_owned).collect()), None),
        None => (None, Some(labels.entry.clone())),
    }
}

impl Reading {
    /// Reads the outputs of a run that saw a part of a picture.
    pub(super) fn reply(&self, graph: &Graph, outputs: &RunOutputs, view: Option<View>) -> Result<Reply, CliError> {
        // Random inputs have no meaningful answer.
        let (Some(decoding), Some(view)) = (&self.decoding, view) else { return Ok(Reply::Unknown) };
        let tensors = graph.caller_outputs().iter().map(|&tensor| &graph.tensors[tensor]);
        let outputs: Vec<Output<'_>> = tensors
            .zip(outputs.values.iter().zip(&outputs.dims))
            .map(|(tensor, (values, dims))| Output { name: &tensor.name, dims, values })
            .collect();
        let decode = |names: Option<&[String]>| decoding.decode(&outputs, &view, names, self.top);
        let decoded = match (decode(self.names.as_deref()), self.names.as_deref()) {
            // Some lists begin with a class that not every model has.
            (Err(DecodeError::Labels { names, classes }), Some([first, others @ ..]))
                if names == classes + 1 && first == "background" =>
            {
                decode(Some(others))
            }
            (decoded, _) => decoded,
        };
        match (decoded, &self.labels_file) {
            (Ok(answer), _) => Ok(Reply::Answer(answer)),
            (Err(DecodeError::Labels { names, classes }), Some(path)) => Err(CliError::Usage(format!(
                "{} names {names} classes, one a line, and the model has {classes}",
                printable(path)
            ))),
            (Err(error), _) => Ok(Reply::Undecoded(error.to_string())),
        }
    }

    /// Returns the catalogue's list of names, if they are not on this machine.
    pub(super) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Returns true if `--labels` could make classes of the only output.
    pub(super) fn may_be_classes(&self, graph: &Graph) -> bool {
        let [output] = graph.caller_outputs()[..] else { return false };
        let extents = &graph.tensors[output].dims;
        self.decoding.is_none() && extents.iter().filter(|&&extent| extent > 1).count() == 1
    }
}
