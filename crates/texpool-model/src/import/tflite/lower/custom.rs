//! Options of custom operators: numbers by name.

use crate::import::{
    error::Problem,
    tflite::flex_map::{FlexList, FlexMap},
};
use texpool_ops::graph::MAX_ELEMENTS;

/// Options that are numbers, or lists of numbers.
pub(super) struct CustomOptions<'b>(FlexMap<'b>);

impl<'b> CustomOptions<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Result<Self, Problem> {
        FlexMap::new(bytes).map(Self).ok_or_else(|| Problem::malformed("its options are no map of numbers"))
    }

    /// Returns a number that the options need not state.
    pub(super) fn optional(&self, name: &str) -> Option<f64> {
        self.0.number(name)
    }

    pub(super) fn number(&self, name: &str) -> Result<f64, Problem> {
        self.optional(name).ok_or_else(|| Problem::malformed(format!("its options have no number `{name}`")))
    }

    /// Returns a number of things, of which there is at least one.
    pub(super) fn count(&self, name: &str) -> Result<usize, Problem> {
        self.number(name).and_then(|number| count(name, number))
    }

    pub(super) fn list(&self, name: &str) -> Result<FlexList<'b>, Problem> {
        self.0.list(name).ok_or_else(|| Problem::malformed(format!("its options have no list of numbers `{name}`")))
    }
}

/// Returns an option that counts things, of which there is at least one.
pub(super) fn count(name: &str, number: f64) -> Result<usize, Problem> {
    match number {
        number if number.fract() == 0.0 && (1.0..=MAX_ELEMENTS as f64).contains(&number) => Ok(number as usize),
        number => Err(Problem::malformed(format!("its {name} is {number}"))),
    }
}
