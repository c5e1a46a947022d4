//! Bits of outputs, to be compared across sessions and processes.

/// FNV-1a over the bits of all values.
pub(crate) fn bits(outputs: &[Vec<f32>]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    outputs.iter().flatten().flat_map(|v| v.to_bits().to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}
