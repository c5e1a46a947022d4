//! The dataflow model: published results, random graphs, hostile graphs, and SDF3's XML.

#![cfg(test)]

mod example;
mod random;
mod table;
mod xml;
