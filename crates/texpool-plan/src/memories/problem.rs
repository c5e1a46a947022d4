//! The input of the searches: valid buffers, with the choices that they have.

use super::memory::{Memory, MemoryChoice};
use crate::{
    buffers::{Buffer, MAX_SIZE},
    error::{InputError, PlanError},
    gcd::gcd,
};

/// Valid buffers and memories.
pub(super) struct Problem<'a> {
    pub(super) memories: &'a [Memory],
    pub(super) buffers: &'a [Buffer],
    /// Choices of each buffer, the cheapest first, without the memories that it is too large for.
    pub(super) choices: Vec<Vec<MemoryChoice>>,
}

impl<'a> Problem<'a> {
    /// Checks the input.
    ///
    /// # Errors
    /// [`PlanError::Input`] for a contradiction, or for a buffer that is larger than every memory it may be in.
    pub(super) fn new(
        memories: &'a [Memory],
        buffers: &'a [Buffer],
        choices: &[Vec<MemoryChoice>],
    ) -> Result<Self, PlanError> {
        let (mut size, mut cost) = (0u128, 0u128);
        let mut sorted = Vec::with_capacity(buffers.len());
        for (buffer, (b, choices)) in buffers.iter().zip(choices).enumerate() {
            let bad = |why: String| InputError::BadBuffer { buffer, name: b.name.clone(), why };
            if let Some((_, why)) = b.contradiction() {
                return Err(bad(why).into());
            }
            if b.offset.is_some() {
                return Err(bad("a buffer with several memories to be in has no fixed offset".into()).into());
            }
            let Some(last) = choices.last() else {
                return Err(bad("it may be in no memory; name one or more".into()).into());
            };
            let mut align = 1;
            for (at, choice) in choices.iter().enumerate() {
                let refused = |why: String| {
                    let memory_name = memories.get(choice.memory).map(|memory| memory.name.clone()).unwrap_or_default();
                    InputError::BadMemory { buffer, name: b.name.clone(), memory: choice.memory, memory_name, why }
                };
                let Some(memory) = memories.get(choice.memory) else {
                    return Err(refused(format!("there are {} memories, counted from 0", memories.len())).into());
                };
                if choices[..at].iter().any(|other| other.memory == choice.memory) {
                    return Err(refused("the buffer names it twice".into()).into());
                }
                align = common_multiple(b.align, memory.align)
                    .filter(|&common| u128::from(common) < MAX_SIZE)
                    .ok_or_else(|| refused(format!("no offset has the alignments {} and {}", b.align, memory.align)))?
                    .max(align);
            }
            size += u128::from(b.size) + u128::from(align);
            if size > MAX_SIZE {
                return Err(bad("it ends at more than 2^62".into()).into());
            }
            cost += u128::from(choices.iter().map(|choice| choice.cost).max().unwrap_or(0));
            if cost > u128::from(u64::MAX) {
                return Err(bad("the costs up to it add up to more than 64 bits can hold".into()).into());
            }
            let takes = |choice: &&MemoryChoice| memories[choice.memory].capacity.is_none_or(|most| b.size <= most);
            let mut of_buffer: Vec<MemoryChoice> = choices.iter().filter(takes).copied().collect();
            // The sort is stable, so choices of equal cost keep the caller's order of preference.
            of_buffer.sort_by_key(|choice| choice.cost);
            if of_buffer.is_empty() {
                let memory = &memories[last.memory];
                return Err(InputError::BadMemory {
                    buffer,
                    name: b.name.clone(),
                    memory: last.memory,
                    memory_name: memory.name.clone(),
                    why: format!(
                        "the buffer has {} units and the memory {}, and no other one that it names is larger",
                        b.size,
                        memory.capacity.unwrap_or(0)
                    ),
                }
                .into());
            }
            sorted.push(of_buffer);
        }
        Ok(Self { memories, buffers, choices: sorted })
    }

    /// Returns the buffer with the alignment that it has in a memory.
    pub(super) fn buffer_in(&self, buffer: usize, memory: usize) -> Buffer {
        let b = &self.buffers[buffer];
        // A valid problem has a common multiple.
        let align = common_multiple(b.align, self.memories[memory].align).unwrap_or(b.align);
        b.clone().aligned(align)
    }
}

/// Returns the least common multiple; `None` if it overflows, or if one is 0.
fn common_multiple(a: u64, b: u64) -> Option<u64> {
    if a == 0 || b == 0 { None } else { (a / gcd(a, b)).checked_mul(b) }
}
