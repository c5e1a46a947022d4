//! Files in and out of a run: pictures, `.npy` arrays, and writing whole files or none.
//! Knows no model, no graph and no device; speaks of extents and dense values only.

mod atomic;
mod complete;
mod distinct_files;
mod dtype;
mod error;
mod input;
mod npy;
mod output;
mod picture;
mod printable;
mod source;
mod target;

pub use atomic::write_atomic;
pub use distinct_files::DistinctFiles;
pub use error::IoError;
pub use input::{InputFile, read_npy, read_picture};
pub use npy::write_npy;
pub use output::{output_file_name, write_outputs};
pub use picture::{Fit, Frame, ImageTensor, Range, preprocess, write_png};
pub use printable::{printable, printable_lines};
pub use source::{read_bytes, read_text};
pub use target::{check_folder, check_picture_name, check_target};
