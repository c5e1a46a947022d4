//! Cyclo-static dataflow: a network as actors that fire in phases, the least buffers between them, the order of phases,
//! the throughput, and SDF3's XML.
//!
//! This is the model of Minakova and Stefanov ("Buffer Sizes Reduction for Memory-efficient CNN Inference on Mobile
//! and Embedded Devices", 2020). Each edge has a separate first-in, first-out buffer, and buffers do not share
//! memory. The module depends on graphs and on the rows that operators need, but not on textures or devices.

mod balance;
mod blocks;
mod buffers;
mod convert;
mod error;
mod execute;
mod footprint;
mod from_graph;
mod model;
mod network;
mod order;
pub mod published;
mod sdf3;
mod sequence;
mod throughput;
mod times;

pub use balance::repetition;
pub use buffers::{Buffers, SEARCH_LIMIT, least_buffers, least_buffers_within};
pub use convert::{Bands, Overlap, PHASE_LIMIT, Phasing, convert};
pub use error::DataflowError;
pub use execute::{FIRING_LIMIT, check_live, executes};
pub use footprint::{Footprint, footprint};
pub use model::{Actor, Channel, Csdf};
pub use network::{Input, InputRows, Layer, Network, RowWindow};
pub use order::{Firing, Order, OrderTerm, Run};
pub use sdf3::to_sdf3;
pub use sequence::Sequence;
pub use throughput::{Period, self_timed_period, serial_time};
pub use times::{phase_times, predicted_times};
