//! What Minakova and Stefanov published (2020), computed again: the example of Table II, the seven networks of Table III.

mod example;

pub use example::{EXAMPLES, Example, example};
