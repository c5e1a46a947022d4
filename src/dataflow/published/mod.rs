//! What Minakova and Stefanov published (2020), computed again: the example of Table II, the seven networks of Table
//! III.

mod example;
mod network_builder;
mod networks;
mod table;

pub use example::{EXAMPLES, Example, example};
pub use table::{ELEMENT_BYTES, NETWORKS, PublishedNetwork};
