//! What importing a file may take: memory that is made, and steps of work. Both importers count both as they go, and refuse
//! what would be too much before it is made. Knows numbers alone.
//!
//! A file of a few bytes can ask for arrays of any size, for a thousand of them, and for loops over all of them. What a
//! real model has made of its constants is a few copies of what it holds, and tables of positions that depend on the
//! extents of its inputs. So the allowance is in proportion to the file (and to the files beside it that it names) and
//! to what goes in, on top of a base for small ones. What is counted is never given back: an allowance bounds memory and
//! time alike.
//!
//! The numbers: the whole catalogue was imported with `TEXPOOL_LOG=texpool=debug`, which writes what each import took.

use std::fmt;

/// Bytes that may be made for each byte of the file. Of the catalogue's files that hold their weights, sparse ones take most:
/// `pose_detection` took 16.7 for each of its bytes, measured while positions counted once for each level, which they no
/// longer do; ResNet-18 takes 1.1. Integers of 8 bits become 8 bytes each and then floats, twice: 16; those that
/// are quantised weights stay bytes, of which a few copies are made.
const BYTES_EACH: u64 = 32;
/// Bytes that any file may have made: eight times what the topology of DenseNet-121 takes (8.3 MB of a file of 214 kB), the
/// most of any file below 500 kB.
const BASE_BYTES: u64 = 64 << 20;
/// Bytes for each element that goes into the network: positions, masks and the tables of antialiased resizes.
const BYTES_STATED: u64 = 4;
/// Input elements that are counted so, about those of an image of 2048 by 2048 in four channels: beyond, an extent that a
/// file merely states would buy it memory.
const MAX_STATED: u64 = 1 << 24;
/// Steps for each byte that may be made. One is about a nanosecond; of the catalogue's files none takes more than 0.25 for
/// each byte that it has made, a walk over an array of many axes takes a few.
const STEPS_EACH: u64 = 8;
/// Elements of constants of one value, which take no memory until they are read: VGG-19's topology in ONNX's own tests
/// states its 143.7 million weights so, in 9 kB.
const MAX_REPEATED: u64 = 1 << 28;

/// What importing is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// Bytes of memory.
    Memory,
    /// Steps of work, each about a nanosecond.
    Work,
    /// Elements of constants of one value.
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

/// What was asked for beyond what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Of what.
    pub resource: Resource,
    /// What was asked for.
    pub asked: u64,
    /// What was left of the allowance.
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
    taken: u64,
}

impl Allowance {
    fn take(&mut self, resource: Resource, asked: u64) -> Result<(), Excess> {
        let left = self.allowed.saturating_sub(self.taken);
        if asked > left {
            return Err(Excess { resource, asked, left, allowed: self.allowed });
        }
        self.taken += asked;
        Ok(())
    }
}

/// What is left of the allowances of an import.
#[derive(Debug)]
pub(super) struct Meter {
    memory: Allowance,
    work: Allowance,
    repeated: Allowance,
}

impl Meter {
    /// For a file of so many bytes.
    pub(super) fn new(file: usize) -> Self {
        let repeated = Allowance { allowed: MAX_REPEATED, taken: 0 };
        let mut meter = Self { memory: Allowance::default(), work: Allowance::default(), repeated };
        meter.allow(BASE_BYTES);
        meter.widen(file);
        meter
    }

    fn allow(&mut self, bytes: u64) {
        self.memory.allowed = self.memory.allowed.saturating_add(bytes);
        self.work.allowed = self.work.allowed.saturating_add(bytes.saturating_mul(STEPS_EACH));
    }

    /// Adds what so many more bytes of values allow.
    pub(super) fn widen(&mut self, bytes: usize) {
        self.allow((bytes as u64).saturating_mul(BYTES_EACH));
    }

    /// Adds what the elements that go into the network allow.
    pub(super) fn state(&mut self, elements: usize) {
        self.allow((elements as u64).min(MAX_STATED) * BYTES_STATED);
    }

    /// Takes memory.
    pub(super) fn memory(&mut self, bytes: usize) -> Result<(), Excess> {
        self.memory.take(Resource::Memory, bytes as u64)
    }

    /// Takes steps of work.
    pub(super) fn work(&mut self, steps: usize) -> Result<(), Excess> {
        self.work.take(Resource::Work, steps as u64)
    }

    /// Takes elements of a constant of one value.
    pub(super) fn repeat(&mut self, elements: usize) -> Result<(), Excess> {
        self.repeated.take(Resource::Repeated, elements as u64)
    }

    /// An empty list with memory for so many elements, each of which takes a step to make. Also where the system has no
    /// memory for it, that is an error.
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

    /// A list of what an iterator gives, of which there are `elements`.
    pub(super) fn filled<T>(&mut self, elements: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>, Excess> {
        let mut list = self.list(elements)?;
        // An iterator that gives more would make the list grow beyond what was taken for it.
        list.extend(values.take(elements));
        Ok(list)
    }

    /// Bytes, steps and elements of one value that were taken.
    pub(super) fn taken(&self) -> [u64; 3] {
        [self.memory, self.work, self.repeated].map(|allowance| allowance.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone_and_what_is_too_much_is_not_taken() {
        let mut meter = Meter::new(0);
        assert_eq!(meter.memory((BASE_BYTES - 1) as usize), Ok(()));
        let excess = Excess { resource: Resource::Memory, asked: 2, left: 1, allowed: BASE_BYTES };
        assert_eq!(meter.memory(2), Err(excess));
        assert_eq!((meter.memory(1), meter.taken()[0]), (Ok(()), BASE_BYTES));
        meter.widen(1);
        assert_eq!(meter.memory(BYTES_EACH as usize), Ok(()));
        assert!(meter.memory(1).is_err());
    }

    #[test]
    fn lists_that_no_machine_has_are_refused() {
        let list = |elements| Meter::new(usize::MAX).list::<u64>(elements);
        assert!(list(usize::MAX).is_err());
        assert!(list(usize::MAX / 16).is_err(), "the system is asked, and says no");
        assert_eq!(Meter::new(usize::MAX).filled(3, 1..).unwrap_or_default(), [1, 2, 3]);
    }

    #[test]
    fn what_is_stated_counts_up_to_a_bound() {
        let [mut few, mut many] = [Meter::new(0), Meter::new(0)];
        few.state(MAX_STATED as usize);
        many.state(usize::MAX);
        assert_eq!(few.memory.allowed, many.memory.allowed);
    }
}
