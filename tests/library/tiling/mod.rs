//! Row tiling: the rows that operators need, the resulting order of steps, the placement of rows, and the pool sizes
//! reached.

#[cfg(test)]
mod budgets;
#[cfg(test)]
mod control;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod input_rows;
#[cfg(test)]
pub(crate) mod networks;
#[cfg(test)]
mod patches;
#[cfg(test)]
pub(crate) mod properties;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod set_stripes;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod streaming;
#[cfg(test)]
mod whole;
#[cfg(test)]
mod whole_choice;

/// Non-repeating numbers in -1..1.
#[cfg(test)]
fn noise(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}
