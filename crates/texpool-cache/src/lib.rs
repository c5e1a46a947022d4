//! Files that texpool keeps between runs: plans that took long to find, packed weights, and reports.
//!
//! A file is written beside its name and then renamed, so that readers see the old or the new one, never a part. Links
//! and files of other owners are refused. A part of [texpool](https://docs.rs/texpool); not for platforms without files.

mod cache_folder;
mod cached_plan;
mod kept_file;
mod part_file;
mod report_file;

pub use cache_folder::{PLANS, WEIGHTS, is_kept_name, make_cache_folder};
pub use cached_plan::CachedPlan;
pub use kept_file::{check_replaceable, open_kept, open_lock, read_exact_at, read_kept};
pub use part_file::PartFile;
pub use report_file::write_report;
