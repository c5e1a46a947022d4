//! Searches for plans: divisions of a network into cascades, the placement of their rows, and the Pareto front of
//! device memory against predicted time.
//!
//! Each file uses only those below it:
//!
//! ```text
//! patch_search         patches of columns that make a plan smaller
//! budget               chooses what is streamed, so that the whole device keeps within a budget
//! compile_for          chooses a plan for options that are fully decided
//! set_stripes          the plan in stripes that the caller sets
//! model_front          the front of a model, over all of its variants
//! variant_front        the front of one variant
//! division_search      the smallest pool           fewest_steps   fewer steps within a limit
//! division, mutator    a division with its textures, and random changes of it
//! whole_plans          the plans of whole tensors
//! variant              the steps of a variant and the costs of a division
//! memory_limit, cost_model
//! ```

pub(crate) mod budget;
pub(crate) mod compile_for;
pub(crate) mod cost_model;
mod division;
mod division_search;
pub(crate) mod fewest_steps;
pub(crate) mod memory_limit;
pub(crate) mod model_front;
mod mutator;
pub(crate) mod patch_search;
pub(crate) mod set_stripes;
pub(crate) mod variant;
mod variant_front;
mod whole_plans;
