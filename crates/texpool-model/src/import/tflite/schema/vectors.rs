//! Vectors of indices.

use super::table::tables;
use crate::import::tflite::reader::Numbers;

tables! {
    /// Indices of 32 bits.
    Int32Vector { values: Numbers<i32> = 4; }
    /// Indices of 16 bits.
    Uint16Vector { values: Numbers<u16> = 4; }
    /// Indices of 8 bits.
    Uint8Vector { values: Numbers<u8> = 4; }
}
