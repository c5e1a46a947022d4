//! The runtime's C interface, as much of it as is used: written by hand, and held to the headers by assertions.

#[cfg(test)]
mod installed;
pub(crate) mod provider;
pub(crate) mod tables;
pub(crate) mod types;
