//! Files in and out of a run: pictures, `.npy` arrays, and writing whole files or none.
//! Knows no model, no graph and no device; speaks of extents, element types and dense values only.

mod atomic;
mod complete;
mod distinct_files;
mod dtype;
mod element;
mod error;
mod foreign;
mod input;
mod large_picture;
mod npy;
mod output;
mod picture;
mod preprocessing;
mod printable;
mod quoted;
mod source;
mod target;

pub use atomic::write_atomic;
pub use distinct_files::DistinctFiles;
pub use error::{IoError, with_bound};
pub use input::{InputFile, read_npy, read_picture};
pub use npy::write_npy;
pub use output::{OutputArray, output_file_name, write_outputs};
pub use picture::write_png;
pub use preprocessing::{ChannelOrder, Fit, Frame, ImageTensor, PixelValues, Preprocessing, Range, preprocess};
pub use printable::{printable, printable_lines};
pub use quoted::{python_literal, shell_argument, shell_word};
pub use source::{read_bytes, read_text};
pub use target::{check_folder, check_picture_name, check_target};
