//! Reproduces the results of Minakova and Stefanov (2020): the example of Table II and the seven networks of Table
//! III.

mod example;
mod network_builder;
mod networks;
mod table;

pub use example::{EXAMPLES, Example, FIRING_US, WORK_US, example};
pub use table::{ELEMENT_BYTES, NETWORKS, PublishedNetwork};
