//! The planner's public behaviour.

mod check;
mod data;
mod properties;
mod totals;
mod vectors;
