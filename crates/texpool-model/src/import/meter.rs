//! Limits on the resources for importing a file: memory allocated, and steps of work. Both importers count as they
//! go, and refuse an excess before allocating it. Works on numbers only.
//!
//! A file of a few bytes can request arrays of any size, a thousand of them, and loops over all of them. The
//! constants of a real model only need a few copies of the file's data, and tables of positions whose size depends on
//! the inputs' extents. The allowance is therefore proportional to the file (including the files beside it that it
//! names) and to the size of the inputs, plus a base amount for small files. Memory counts while it is held: values that
//! were only needed while a node was evaluated, and values that no later node reads, are given back. Steps of work are
//! never given back, so they limit the time of long chains.
//!
//! The numbers are based on an import of the whole catalogue with `TEXPOOL_LOG=texpool=debug`, which logs the
//! resources that each import took.

use std::fmt;

/// Bytes that may be allocated per byte of the file. Of the catalogue's files that contain their weights, sparse ones
/// need most: `pose_detection` took 16.7 per byte, measured when positions were still counted once per level.
/// ResNet-18 takes 1.1. Integers of 8 bits become 8 bytes each and then floats, twice: 16 bytes. Quantised weights
/// stay bytes, of which a few copies are created.
const BYTES_EACH: u64 = 32;
/// Bytes that may be allocated for any file: eight times the need of DenseNet-121's topology (8.3 MB for a file of
/// 214 kB). No other file below 500 kB needs as much.
const BASE_BYTES: u64 = 64 << 20;
/// Bytes per element of the network's inputs, for positions, masks and the tables of antialiased resizes.
const BYTES_STATED: u64 = 4;
/// Maximum number of input elements that count for this, about an image of 2048 by 2048 with four channels. Without
/// the limit a file could obtain memory merely by stating large extents.
const MAX_STATED: u64 = 1 << 24;
/// Steps per byte that may be allocated. A step takes about a nanosecond. No file of the catalogue takes more than
/// 0.25 per allocated byte; a walk over an array of many axes takes a few.
const STEPS_EACH: u64 = 8;
/// Divisor of the remaining allowance. Amounts up to the quotient count as small.
const SMALL_PART: u64 = 4;
/// Limit on the elements of constants of one repeated value, which take no memory until they are read. VGG-19's
/// topology in ONNX's own tests declares its 143.7 million weights that way, in 9 kB.
const MAX_REPEATED: u64 = 1 << 28;

/// Resources that are counted while importing.
///
/// ```
/// use texpool::import::Resource;
///
/// assert_eq!(Resource::Memory.to_string(), "bytes of memory");
/// assert_eq!(Resource::Work.to_string(), "steps of work");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// Bytes of memory.
    Memory,
    /// Steps of work, each about a nanosecond.
    Work,
    /// Elements of constants that repeat one value.
    Repeated,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "bytes of memory",
            Self::Work => "steps of work",
            Self::Repeated => "elements of constants of one value",
        })
    }
}

/// A request that exceeded an allowance.
///
/// ```
/// use texpool::import::{Excess, Resource};
///
/// let excess = Excess { resource: Resource::Work, asked: 5000, left: 100, allowed: 4000 };
/// let text = "too large: it asks for 5000 more steps of work, 100 of 4000 are left for a file of this size";
/// assert_eq!(excess.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The resource.
    pub resource: Resource,
    /// Amount requested.
    pub asked: u64,
    /// Amount left of the allowance.
    pub left: u64,
    /// The whole allowance.
    pub allowed: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, asked, left, allowed } = self;
        write!(
            f,
            "too large: it asks for {asked} more {resource}, {left} of {allowed} are left for a file of this size"
        )
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Allowance {
    allowed: u64,
    used: u64,
    /// The most that was used at a time.
    most: u64,
}

impl Allowance {
    fn take(&mut self, resource: Resource, amount: u64) -> Result<(), Excess> {
        let left = self.allowed.saturating_sub(self.used);
        if amount > left {
            return Err(Excess { resource, asked: amount, left, allowed: self.allowed });
        }
        self.used += amount;
        self.most = self.most.max(self.used);
        Ok(())
    }
}

/// Allowances of an import, and the amounts used.
#[derive(Debug)]
pub(super) struct Meter {
    memory: Allowance,
    work: Allowance,
    repeated: Allowance,
}

impl Meter {
    /// Creates the allowances for a file of `file` bytes.
    pub(super) fn new(file: usize) -> Self {
        let repeated = Allowance { allowed: MAX_REPEATED, ..Allowance::default() };
        let mut meter = Self { memory: Allowance::default(), work: Allowance::default(), repeated };
        meter.allow(BASE_BYTES);
        meter.widen(file);
        meter
    }

    fn allow(&mut self, bytes: u64) {
        self.memory.allowed = self.memory.allowed.saturating_add(bytes);
        self.work.allowed = self.work.allowed.saturating_add(bytes.saturating_mul(STEPS_EACH));
    }

    /// Increases the allowance for `bytes` more bytes of values.
    pub(super) fn widen(&mut self, bytes: usize) {
        self.allow((bytes as u64).saturating_mul(BYTES_EACH));
    }

    /// Increases the allowance for elements of the network's inputs.
    pub(super) fn state(&mut self, elements: usize) {
        self.allow((elements as u64).min(MAX_STATED) * BYTES_STATED);
    }

    /// Charges memory.
    pub(super) fn memory(&mut self, bytes: usize) -> Result<(), Excess> {
        self.memory.take(Resource::Memory, bytes as u64)
    }

    /// Returns the bytes that are charged at present.
    pub(super) const fn used_bytes(&self) -> u64 {
        self.memory.used
    }

    /// Gives back what was charged since `before`, which [`used_bytes`](Self::used_bytes) returned, except for `bytes`.
    pub(super) fn keep(&mut self, before: u64, bytes: usize) {
        self.memory.used = self.memory.used.min(before.saturating_add(bytes as u64));
    }

    /// Gives back bytes of memory that was freed.
    pub(super) fn free(&mut self, bytes: usize) {
        self.memory.used = self.memory.used.saturating_sub(bytes as u64);
    }

    /// Charges steps of work.
    pub(super) fn work(&mut self, steps: usize) -> Result<(), Excess> {
        self.work.take(Resource::Work, steps as u64)
    }

    /// Returns whether an amount is a small part of the remaining allowance, so that using it leaves enough for later
    /// operators.
    pub(super) fn spares(&self, bytes: usize, steps: usize) -> bool {
        let is_small = |allowance: &Allowance, amount: usize| {
            (amount as u64).saturating_mul(SMALL_PART) <= allowance.allowed.saturating_sub(allowance.used)
        };
        is_small(&self.memory, bytes) && is_small(&self.work, steps)
    }

    /// Charges elements of a constant that repeats one value.
    pub(super) fn repeat(&mut self, elements: usize) -> Result<(), Excess> {
        self.repeated.take(Resource::Repeated, elements as u64)
    }

    /// Returns an empty list with capacity for `elements` elements, and charges a step for each. Also fails if the
    /// system cannot allocate the memory.
    pub(super) fn list<T>(&mut self, elements: usize) -> Result<Vec<T>, Excess> {
        let bytes = elements.saturating_mul(size_of::<T>());
        self.memory(bytes)?;
        self.work(elements)?;
        let mut list = Vec::new();
        let Allowance { allowed, .. } = self.memory;
        let refused = |_| Excess { resource: Resource::Memory, asked: bytes as u64, left: 0, allowed };
        list.try_reserve_exact(elements).map_err(refused)?;
        Ok(list)
    }

    /// Collects the `elements` values of an iterator into a list.
    pub(super) fn filled<T>(&mut self, elements: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>, Excess> {
        let mut list = self.list(elements)?;
        // Limited, because an iterator with more values would grow the list beyond the amount charged.
        list.extend(values.take(elements));
        Ok(list)
    }

    /// Returns the most bytes charged at a time, and the steps and repeated elements charged.
    pub(super) fn totals(&self) -> [u64; 3] {
        [self.memory, self.work, self.repeated].map(|allowance| allowance.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_subtracts_grants_and_refuses_excess() {
        let mut meter = Meter::new(0);
        assert_eq!(meter.memory((BASE_BYTES - 1) as usize), Ok(()));
        let excess = Excess { resource: Resource::Memory, asked: 2, left: 1, allowed: BASE_BYTES };
        assert_eq!(meter.memory(2), Err(excess));
        assert_eq!((meter.memory(1), meter.totals()[0]), (Ok(()), BASE_BYTES));
        meter.widen(1);
        assert_eq!(meter.memory(BYTES_EACH as usize), Ok(()));
        assert!(meter.memory(1).is_err());
    }

    #[test]
    fn memory_counts_while_it_is_held() {
        let mut meter = Meter::new(0);
        let all = BASE_BYTES as usize;
        for _ in 0..3 {
            let before = meter.used_bytes();
            assert_eq!(meter.memory(all), Ok(()));
            meter.keep(before, 8);
            assert_eq!((meter.used_bytes(), meter.memory(all).is_err()), (8, true));
            meter.free(8);
        }
        // Keeping more than was charged charges nothing.
        meter.keep(0, all);
        assert_eq!((meter.used_bytes(), meter.totals()[0]), (0, BASE_BYTES));
    }

    #[test]
    fn lists_that_no_machine_has_are_refused() {
        let list = |elements| Meter::new(usize::MAX).list::<u64>(elements);
        assert!(list(usize::MAX).is_err());
        assert!(list(usize::MAX / 16).is_err(), "the system is asked, and says no");
        assert_eq!(Meter::new(usize::MAX).filled(3, 1..).unwrap_or_default(), [1, 2, 3]);
    }

    #[test]
    fn stated_sizes_count_up_to_a_bound() {
        let [mut few, mut many] = [Meter::new(0), Meter::new(0)];
        few.state(MAX_STATED as usize);
        many.state(usize::MAX);
        assert_eq!(few.memory.allowed, many.memory.allowed);
    }
}
