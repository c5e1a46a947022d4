//! Sets of tensors as bits, so that the unplaced tensors that overlap a given one are found a word at a time.

/// Number of tensors per word.
const WORD: usize = u64::BITS as usize;

/// A matrix of bits in which each row is a set.
pub(super) struct BitRows {
    words: usize,
    bits: Vec<u64>,
}

impl BitRows {
    /// Creates empty sets of tensors below `columns`.
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(WORD);
        Self { words, bits: vec![0; rows * words] }
    }

    /// Adds a tensor to a set.
    pub(super) fn set(&mut self, row: usize, tensor: usize) {
        self.bits[row * self.words + tensor / WORD] |= 1 << (tensor % WORD);
    }

    /// Returns the words of a set.
    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }
}

/// Adds a tensor to a set of words.
pub(super) fn set(words: &mut [u64], tensor: usize) {
    words[tensor / WORD] |= 1 << (tensor % WORD);
}

/// Removes a tensor from a set of words.
pub(super) fn clear(words: &mut [u64], tensor: usize) {
    words[tensor / WORD] &= !(1 << (tensor % WORD));
}

/// Returns whether a set of words contains a tensor.
pub(super) fn has(words: &[u64], tensor: usize) -> bool {
    words[tensor / WORD] >> (tensor % WORD) & 1 == 1
}

/// Returns the words that contain tensors `from..to`.
pub(super) fn words(from: usize, to: usize) -> std::ops::Range<usize> {
    from / WORD..to.div_ceil(WORD)
}

/// Returns the bits of word `word` that belong to tensors `from..to`.
pub(super) fn mask(word: usize, from: usize, to: usize) -> u64 {
    let start = word * WORD;
    let below = |end: usize| match end.saturating_sub(start) {
        0 => 0,
        many if many >= WORD => u64::MAX,
        some => (1 << some) - 1,
    };
    below(to) & !below(from)
}

/// Iterates over the tensors of one word in ascending order.
pub(super) struct Ones {
    start: usize,
    bits: u64,
}

/// Returns the tensors whose bits are set in word `word`.
pub(super) fn ones(word: usize, bits: u64) -> Ones {
    Ones { start: word * WORD, bits }
}

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let at = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.start + at)
    }
}
