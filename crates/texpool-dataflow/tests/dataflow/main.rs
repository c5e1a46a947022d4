//! The dataflow model: published results, random graphs, hostile graphs, and SDF3's XML.

#![cfg(test)]

mod example;
mod order;
mod random;
mod table;
mod throughput;
mod xml;
