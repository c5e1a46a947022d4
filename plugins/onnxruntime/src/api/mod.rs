//! The part of the runtime's C interface that is used. Written by hand, and checked against the headers by
//! assertions.

pub(crate) mod ep_table;
pub(crate) mod provider;
pub(crate) mod tables;
pub(crate) mod types;

#[cfg(test)]
mod installed;
