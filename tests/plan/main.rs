//! The planner's public behaviour.

#![cfg(test)]

mod banks;
mod certificates;
mod check;
mod control;
mod data;
mod exact;
mod greedy;
mod improved;
mod inputs;
mod io;
mod offsets;
mod order;
mod pictures;
mod properties;
mod published;
mod rounds;
mod scale;
mod totals;
mod vectors;
