//! Witnesses: run the other tests of this binary again in a separate process, under observation or with something
//! missing.

mod child;
mod growth;
mod no_adapter;
mod no_memory;
mod second_driver;
mod strict;
mod validation;

pub(crate) use child::Child;

/// Test of the network that runs in stripes where one network is enough.
const NETWORK: &str = "tiling::models::blazeface";
