//! The rewriter: each rule on graphs where it applies and where it does not, with the answers before and after
//! compared by the CPU references.

#![cfg(test)]

#[cfg(test)]
mod activation;
#[cfg(test)]
mod affine;
#[cfg(test)]
mod arithmetic;
#[cfg(test)]
mod common_subexpression;
mod concat;
#[cfg(test)]
mod constant_epilogue;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod large;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod linear;
#[cfg(test)]
mod move_chain;
#[cfg(test)]
mod pad;
#[cfg(test)]
pub(crate) mod property;
#[cfg(test)]
mod recognised;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod reshapes;
#[cfg(test)]
mod residual;
mod separable;
#[cfg(test)]
mod softmax_sum;
#[cfg(test)]
mod sorted_segments;
#[cfg(test)]
mod support;
#[cfg(test)]
mod two_steps;
mod winograd;
#[cfg(test)]
mod written;
