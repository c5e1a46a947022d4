//! The most likely classes of a photo, for models whose class names the catalogue provides.

use crate::{
    fetch::{Bar, Entry, Fetcher},
    io::{printable, read_text},
};
use serde::Serialize;
use std::fmt;

/// Number of classes shown.
const SHOWN: usize = 5;

/// Names of the classes, if the file with them exists locally.
pub(super) struct ClassNames {
    /// The name of each class; `None` if the list is not downloaded yet.
    names: Option<Vec<String>>,
    /// The catalogue entry that contains the names.
    entry: String,
}

/// A class of a photo, or of some of its pixels.
#[derive(Debug, Serialize)]
pub(super) struct Class {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Its probability, or the share of pixels for which it is the most likely class.
    share: f32,
    /// Name of the catalogue entry with the class names, if they are missing.
    #[serde(skip)]
    names_in: String,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, label, share, names_in } = self;
        match label {
            Some(label) => write!(f, "{share:.3}  {} ({index})", printable(label)),
            None => write!(f, "{share:.3}  class {index} (`texpool models fetch {names_in}` brings its name)"),
        }
    }
}

impl ClassNames {
    /// Returns the class names of a model, if the catalogue states them. Downloads nothing.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let labels = entry.labels.as_ref()?;
        let bar = Bar::default();
        let fetcher = Fetcher::new(&bar).ok()?;
        let path = fetcher.find(fetcher.catalog.entry(&labels.entry).ok()?);
        let text = path.and_then(|path| read_text(&path).ok());
        let names = text.map(|text| text.lines().skip(labels.first).map(str::to_owned).collect());
        Some(Self { names, entry: labels.entry.clone() })
    }

    /// Returns the most likely classes of an output whose last axis enumerates classes; empty for other outputs.
    pub(super) fn likeliest(&self, dims: &[usize], values: &[f32]) -> Vec<Class> {
        let Some(&classes) = dims.last() else { return vec![] };
        let known = self.names.as_ref().is_none_or(|names| names.len() == classes);
        if !known || classes < 2 || values.len() < classes || values.iter().any(|value| !value.is_finite()) {
            return vec![];
        }
        let shares = match values.len() / classes {
            1 => probabilities(values),
            pixels => {
                let mut shares = vec![0.0; classes];
                for pixel in values.chunks_exact(classes) {
                    let best = (0..classes).max_by(|&a, &b| pixel[a].total_cmp(&pixel[b])).unwrap_or(0);
                    shares[best] += 1.0 / pixels as f32;
                }
                shares
            }
        };
        let mut order: Vec<usize> = (0..classes).filter(|&class| shares[class] > 0.0).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let class = |&index: &usize| Class {
            index,
            label: self.names.as_ref().map(|names| names[index].clone()),
            share: shares[index],
            names_in: self.entry.clone(),
        };
        order.iter().take(SHOWN).map(class).collect()
    }
}

/// Converts values to probabilities by softmax, unless they already are probabilities.
fn probabilities(values: &[f32]) -> Vec<f32> {
    /// Largest effect of rounding, also to 8 bits, on the sum of a thousand probabilities.
    const ROUNDING: f32 = 0.1;
    let sum: f32 = values.iter().sum();
    if values.iter().all(|&value| value >= 0.0) && (sum - 1.0).abs() < ROUNDING {
        return values.to_vec();
    }
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = values.iter().map(|value| (value - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
