//! The rewriter, which turns a graph into a smaller graph that computes the same. Independent of devices and memory.

#[doc(inline)]
pub use texpool_model::rewrite::{
    Fired, LARGE_MEAN, Location, MAX_ABSORBED, Numerics, RULES, Report, Rewritten, Rule, Rules, SkipReason, Skipped,
    UnknownRule, rewrite, row_means, sorted_segments, split, two_steps,
};
