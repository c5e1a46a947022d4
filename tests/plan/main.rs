//! The planner's public behaviour.

#![cfg(test)]

#[cfg(test)]
mod banks;
#[cfg(test)]
mod check;
#[cfg(test)]
mod data;
#[cfg(test)]
mod exact;
#[cfg(test)]
mod io;
#[cfg(test)]
mod offsets;
#[cfg(test)]
mod order;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod published;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod totals;
#[cfg(test)]
mod vectors;
