//! The memory planner: usage records in, plans out. Knows no graph, no GPU and no file.
//!
//! Sizes are in whatever unit the caller counts in (bytes, texels); every algorithm is unit-free.

mod layout;
mod placement;
mod record;

pub use layout::{Layout, Place, Problem};
pub use placement::{Placement, Plan, RowTable, TexelFormat, TextureSpec};
pub use record::UsageRecord;
