//! How invocations are counted.

use super::wgsl::shared_constants;

shared_constants! {
    /// How invocations are counted.
    GRID:
    /// Workgroups along x before the grid begins a new row along y: below the 65535 that WebGPU promises a dimension.
    GRID_ROW = 32768,
    /// Invocations of a workgroup, all along x.
    LANES = 64,
}
