//! Layout of invocations in a dispatch.

use super::wgsl::shared_constants;

shared_constants! {
    /// Constants of the dispatch grid.
    GRID:
    /// Workgroups along x before the grid starts a new row along y; below the 65535 that WebGPU guarantees per
    /// dimension.
    GRID_ROW = 32768,
    /// Invocations per workgroup, all along x.
    LANES = 64,
}
