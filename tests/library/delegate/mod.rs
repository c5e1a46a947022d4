//! What a delegate in another runtime would take of a file.

#![cfg(test)]

mod networks;
mod partitions;
