//! Tests of the selection of nodes that a delegate in another runtime takes from a file.

#![cfg(test)]

mod networks;
mod partitions;
mod parts;
