//! A segment as a problem of its own: sets of operations as bits, and the memory that an operation takes and frees.

use std::ops::Range;

use super::problem::{OrderProblem, OrderTensor};

/// The operations of a segment, numbered from 0, and the tensors that they touch.
pub(super) struct Region {
    /// Number of operations.
    pub(super) length: usize,
    /// Words of a set of operations.
    pub(super) words: usize,
    /// Bytes alive before the first operation.
    pub(super) live: u64,
    /// For each operation, the operations of the segment that must run before it, as a set.
    before: Vec<u64>,
    /// For each operation, those of the segment that depend on it.
    successors: Vec<Vec<usize>>,
    /// For each operation, the tensors that it touches.
    touched: Vec<Vec<usize>>,
    tensors: Vec<Tensor>,
    /// For each tensor, the operations that touch it, as a set.
    users: Vec<u64>,
}

/// A tensor that operations of the segment touch.
struct Tensor {
    size: u64,
    /// True if it is dead before the segment.
    begins: bool,
    /// True if it is dead after the segment.
    ends: bool,
}

/// Bytes that an operation takes before it runs, and those that it frees afterwards.
#[derive(Clone, Copy)]
pub(super) struct Effect {
    pub(super) taken: u64,
    pub(super) freed: u64,
}

/// A set of operations that have run, and of those that can run next.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    /// The words of both sets.
    pub(super) bits: Vec<u64>,
    /// Bytes alive.
    pub(super) live: u64,
    /// Largest bytes alive so far.
    pub(super) peak: u64,
}

impl Region {
    /// Creates the problem of the operations in `range`. `first` and `last` are the first and last operations of the
    /// file's order that touch each tensor.
    pub(super) fn new(problem: &OrderProblem, range: Range<usize>, first: &[usize], last: &[usize]) -> Self {
        let (length, words) = (range.len(), range.len().div_ceil(64).max(1));
        let inside = |operation: &&usize| range.contains(*operation);
        let mut region = Self {
            length,
            words,
            live: 0,
            before: vec![0; length * words],
            successors: vec![Vec::new(); length],
            touched: vec![Vec::new(); length],
            tensors: Vec::new(),
            users: Vec::new(),
        };
        let mut number = vec![usize::MAX; problem.tensors().len()];
        for (local, operation) in range.clone().enumerate() {
            for other in problem.after()[operation].iter().filter(inside) {
                set(&mut region.before[local * words..], other - range.start);
                region.successors[other - range.start].push(local);
            }
            for &tensor in &problem.touched()[operation] {
                if number[tensor] == usize::MAX {
                    number[tensor] = region.tensors.len();
                    let described = problem.tensors()[tensor];
                    let begins = !described.alive_from_start && first[tensor] >= range.start;
                    let ends = !described.alive_to_end && last[tensor] < range.end;
                    region.tensors.push(Tensor { size: described.size, begins, ends });
                    region.users.resize(region.users.len() + words, 0);
                }
                region.touched[local].push(number[tensor]);
                set(&mut region.users[number[tensor] * words..], local);
            }
        }
        region.live = alive_before(problem, range.start, first, last);
        region
    }

    /// Returns the state before the first operation.
    pub(super) fn start(&self) -> State {
        let mut bits = vec![0; 2 * self.words];
        for operation in (0..self.length).filter(|&operation| self.before(operation).iter().all(|&word| word == 0)) {
            set(&mut bits[self.words..], operation);
        }
        State { bits, live: self.live, peak: self.live }
    }

    /// Returns the bytes that `operation` takes and frees after those of `done` have run.
    pub(super) fn effect(&self, done: &[u64], operation: usize) -> Effect {
        let mut effect = Effect { taken: 0, freed: 0 };
        for &tensor in &self.touched[operation] {
            let Tensor { size, begins, ends } = self.tensors[tensor];
            let users = self.users(tensor);
            if begins && users.iter().zip(done).all(|(users, done)| users & done == 0) {
                effect.taken += size;
            }
            if ends && is_last_user(users, done, operation) {
                effect.freed += size;
            }
        }
        effect
    }

    /// Runs an operation that is ready, and returns the operations that became ready.
    pub(super) fn run(&self, state: &mut State, operation: usize, effect: Effect) -> Vec<usize> {
        let during = state.live + effect.taken;
        state.live = during - effect.freed;
        state.peak = state.peak.max(during);
        let (done, ready) = state.bits.split_at_mut(self.words);
        set(done, operation);
        ready[operation / 64] &= !(1 << (operation % 64));
        let mut released = Vec::new();
        for &successor in &self.successors[operation] {
            if self.before(successor).iter().zip(&*done).all(|(before, done)| before & !done == 0) {
                set(ready, successor);
                released.push(successor);
            }
        }
        released
    }

    /// Returns the operations that can run next, in increasing order.
    pub(super) fn ready<'a>(&self, state: &'a State) -> impl Iterator<Item = usize> + use<'a> {
        members(&state.bits[self.words..])
    }

    /// Returns whether all operations have run.
    pub(super) fn is_complete(&self, state: &State) -> bool {
        self.count_done(state) == self.length
    }

    /// Returns the number of operations that have run.
    pub(super) fn count_done(&self, state: &State) -> usize {
        self.done(state).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the operations that have run.
    pub(super) fn done<'a>(&self, state: &'a State) -> &'a [u64] {
        &state.bits[..self.words]
    }

    /// Returns the peak of an order.
    pub(super) fn peak(&self, order: &[usize]) -> u64 {
        let mut state = self.start();
        for &operation in order {
            let effect = self.effect(self.done(&state), operation);
            drop(self.run(&mut state, operation, effect));
        }
        state.peak
    }

    /// Returns the operations that must run before `operation`.
    pub(super) fn before(&self, operation: usize) -> &[u64] {
        &self.before[operation * self.words..][..self.words]
    }

    /// Returns, for each tensor, its size, its users, and whether it is dead before and after the segment.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (u64, &[u64], bool, bool)> {
        self.tensors.iter().zip(self.users.chunks(self.words)).map(|(t, users)| (t.size, users, t.begins, t.ends))
    }

    /// Returns the bytes that are alive during the whole segment without being touched.
    pub(super) fn untouched(&self) -> u64 {
        self.live - self.tensors.iter().filter(|tensor| !tensor.begins).map(|tensor| tensor.size).sum::<u64>()
    }

    fn users(&self, tensor: usize) -> &[u64] {
        &self.users[tensor * self.words..][..self.words]
    }
}

/// Returns the bytes alive just before the operation at `start`.
fn alive_before(problem: &OrderProblem, start: usize, first: &[usize], last: &[usize]) -> u64 {
    let alive = |&(index, tensor): &(usize, &OrderTensor)| {
        (tensor.alive_from_start || first[index] < start) && (tensor.alive_to_end || last[index] >= start)
    };
    problem.tensors().iter().enumerate().filter(alive).map(|(_, tensor)| tensor.size).sum()
}

/// Returns whether all users but `operation` are done.
fn is_last_user(users: &[u64], done: &[u64], operation: usize) -> bool {
    let mut open = users.iter().zip(done).enumerate().map(|(word, (users, done))| {
        let this = if word == operation / 64 { 1 << (operation % 64) } else { 0 };
        users & !done & !this
    });
    open.all(|open| open == 0)
}

/// Adds a member to a set.
pub(super) fn set(words: &mut [u64], member: usize) {
    words[member / 64] |= 1 << (member % 64);
}

/// Returns the members of a set, in increasing order.
pub(super) fn members(words: &[u64]) -> impl Iterator<Item = usize> + use<'_> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let rest = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
        rest.take_while(|&word| word != 0).map(move |word| 64 * index + word.trailing_zeros() as usize)
    })
}
