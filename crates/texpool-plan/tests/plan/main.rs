//! Tests the planner's public behaviour.

#![cfg(test)]

mod arena;
mod arena_properties;
mod banks;
mod certificates;
mod check;
mod control;
mod data;
mod documented;
mod exact;
mod greedy;
mod improved;
mod inputs;
mod io;
mod memories;
mod offsets;
mod order;
mod passes;
mod pictures;
mod pool;
mod properties;
mod published;
mod scale;
mod topologies;
mod totals;
mod vectors;
