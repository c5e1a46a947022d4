//! The dataflow model: what was published, random graphs, hostile graphs, SDF3's XML.

#![cfg(test)]

mod example;
mod random;
mod table;
mod xml;
