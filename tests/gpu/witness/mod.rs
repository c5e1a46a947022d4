//! Witnesses: the other tests of this binary once more, in a process of their own, where something else watches or
//! something is missing.

mod child;
mod growth;
mod no_adapter;
mod no_memory;
mod second_driver;
mod strict;
mod validation;

pub(crate) use child::Child;
