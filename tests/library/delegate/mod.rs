//! Tests of the nodes that a delegate in another runtime takes of a file.

#![cfg(test)]

mod networks;
mod partitions;
