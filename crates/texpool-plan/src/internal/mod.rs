//! Parts of the planner that texpool's compiler, executor and reports use. They are no part of the public interface and
//! may change with any version.

mod late_acceptance;
mod svg;
mod xml;

pub use crate::{
    pool::{overlay_textures, texture_ranks},
    portfolio::try_strategy,
    printable::needs_escape,
    rows::{Assigned, AssignmentSearch, assign_rows, pack_rows},
};
pub use late_acceptance::LateAcceptance;
pub use svg::{svg_head, tick_distance};
pub use xml::escaped;
