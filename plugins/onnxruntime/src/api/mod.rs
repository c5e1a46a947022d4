//! The runtime's C interface, as much of it as is used: written by hand, and held to the headers by assertions.

pub(crate) mod ep_table;
pub(crate) mod provider;
pub(crate) mod tables;
pub(crate) mod types;

#[cfg(test)]
mod installed;
