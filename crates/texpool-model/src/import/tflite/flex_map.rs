//! Reads numbers and lists of them from a FlexBuffers map, in which some custom operators state their options
//! (<https://flatbuffers.dev/internals/>). Checks each position against the bytes.

/// Maximum number of entries. Chosen beyond any operator's, because a thousand operators may share their options.
const MAX_ENTRIES: usize = 256;

/// Types of values, by their number in the format.
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const INDIRECT_INT: u8 = 6;
const INDIRECT_FLOAT: u8 = 8;
const MAP: u8 = 9;
const INT_LIST: u8 = 11;
const FLOAT_LIST: u8 = 13;
const BOOL: u8 = 26;

/// A map of numbers by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlexMap<'b> {
    bytes: &'b [u8],
    entries: usize,
    /// Positions of the first value and of the first key, and bytes of each.
    values: (usize, usize),
    keys: (usize, usize),
}

impl<'b> FlexMap<'b> {
    /// Reads the layout of a map. `None` if the bytes are no map, or if it has too many entries.
    pub(super) fn new(bytes: &'b [u8]) -> Option<Self> {
        // At the end are the root, its type, and the bytes that it takes.
        let (&root_width, rest) = bytes.split_last()?;
        let (&kind, rest) = rest.split_last()?;
        let root = rest.len().checked_sub(root_width.into())?;
        if kind >> 2 != MAP {
            return None;
        }
        // The number of values comes before them, and before that the place of the keys and the bytes of each.
        let width = 1 << (kind & 3);
        let values = back(bytes, root, root_width.into())?;
        let [size, key_width, key_place] = [1, 2, 3].map(|parts| values.checked_sub(parts * width));
        let entries = usize::try_from(unsigned(bytes, size?, width)?).ok().filter(|&size| size <= MAX_ENTRIES)?;
        let key_width = usize::try_from(unsigned(bytes, key_width?, width)?).ok()?;
        let keys = back(bytes, key_place?, width)?;
        Some(Self { bytes, entries, values: (values, width), keys: (keys, key_width) })
    }

    /// Returns the number of this name. `None` if the map has none.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let (at, kind) = self.entry(name)?;
        let (_, width) = self.values;
        match kind >> 2 {
            INDIRECT_INT..=INDIRECT_FLOAT => {
                number(self.bytes, kind >> 2, back(self.bytes, at, width)?, 1 << (kind & 3), INDIRECT_INT - INT)
            }
            plain => number(self.bytes, plain, at, width, 0),
        }
    }

    /// Returns the list of this name, whose numbers have one type. `None` if the map has none.
    pub(super) fn list(&self, name: &str) -> Option<FlexList<'b>> {
        let (at, kind) = self.entry(name)?;
        let first = back(self.bytes, at, self.values.1)?;
        let width = 1 << (kind & 3);
        // The number of elements comes before the first one.
        let len = usize::try_from(unsigned(self.bytes, first.checked_sub(width)?, width)?).ok()?;
        let elements = self.bytes.get(first..first.checked_add(len.checked_mul(width)?)?)?;
        (INT_LIST..=FLOAT_LIST).contains(&(kind >> 2)).then_some(FlexList { elements, kind: kind >> 2, width })
    }

    /// Returns the position and the type of the value of this name.
    fn entry(&self, name: &str) -> Option<(usize, u8)> {
        let index = (0..self.entries).find(|&index| self.has_name(index, name) == Some(true))?;
        let (values, width) = self.values;
        let kind = *self.bytes.get(values + self.entries * width + index)?;
        Some((values + index * width, kind))
    }

    fn has_name(&self, index: usize, name: &str) -> Option<bool> {
        let (keys, width) = self.keys;
        let key = self.bytes.get(back(self.bytes, keys.checked_add(index * width)?, width)?..)?;
        Some(key.strip_prefix(name.as_bytes())?.first() == Some(&0))
    }
}

/// A list of numbers of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlexList<'b> {
    elements: &'b [u8],
    kind: u8,
    width: usize,
}

impl<'b> FlexList<'b> {
    /// Number of elements, at most one for each byte of the options.
    pub(super) const fn len(&self) -> usize {
        self.elements.len() / self.width
    }

    /// Iterates over the numbers. `None` stands for a number of an unknown size.
    pub(super) fn numbers(self) -> impl Iterator<Item = Option<f64>> + use<'b> {
        let Self { elements, kind, width } = self;
        (0..self.len()).map(move |index| number(elements, kind, index * width, width, INT_LIST - INT))
    }
}

/// Returns a number of a type, less `base`.
fn number(bytes: &[u8], kind: u8, at: usize, width: usize, base: u8) -> Option<f64> {
    let bits = unsigned(bytes, at, width)?;
    match kind - base {
        INT => {
            let unused = 64 - 8 * width as u32;
            Some(((bits << unused) as i64 >> unused) as f64)
        }
        UINT | BOOL => Some(bits as f64),
        FLOAT if width == size_of::<f64>() => Some(f64::from_bits(bits)),
        FLOAT if width == size_of::<f32>() => Some(f32::from_bits(bits as u32).into()),
        _ => None,
    }
}

/// Returns the position that lies an offset before the offset itself.
fn back(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    at.checked_sub(usize::try_from(unsigned(bytes, at, width)?).ok()?)
}

/// Returns a number of 1, 2, 4 or 8 bytes.
fn unsigned(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let read = bytes.get(at..at.checked_add(width)?).filter(|_| matches!(width, 1 | 2 | 4 | 8))?;
    Some(read.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map as `flexbuffers` of the Python package `flatbuffers` 25.12 writes it: `{"a": -3, "bc": 0.5, "d": True}`.
    const WRITTEN: &[u8] = b"a\0bc\0d\0\x03\x08\x07\x05\0\x04\0\0\0\x01\0\0\0\x03\0\0\0\xfd\xff\xff\xff\
        \0\0\0?\x01\0\0\0\x06\x0ej\x0f&\x01";

    #[test]
    fn numbers_are_found_by_name() {
        let Some(map) = FlexMap::new(WRITTEN) else { panic!("it is a map") };
        assert_eq!(
            ["a", "bc", "d", "b", ""].map(|name| map.number(name)),
            [Some(-3.0), Some(0.5), Some(1.0), None, None]
        );
    }

    /// `{"a": [-1, 300], "b": [0.5, 2.0], "c": 1}`, with typed lists, written in the same way.
    const LISTS: &[u8] = b"a\0\x02\0\xff\xff,\x01b\0\0\0\x02\0\0\0\0\0\0?\0\0\0@c\0\
        \x03\x1b\x14\x05\x03\x01\x03\x1d\x12\x01-6\x04\x06$\x01";

    #[test]
    fn lists_are_found_by_name() {
        let Some(map) = FlexMap::new(LISTS) else { panic!("it is a map") };
        let list = |name| map.list(name).map(|list| (list.len(), list.numbers().collect::<Vec<_>>()));
        assert_eq!(list("a"), Some((2, vec![Some(-1.0), Some(300.0)])));
        assert_eq!(list("b"), Some((2, vec![Some(0.5), Some(2.0)])));
        assert_eq!((list("c"), list("d"), map.number("a"), map.number("c")), (None, None, None, Some(1.0)));
    }

    #[test]
    fn no_bytes_make_it_read_outside() {
        for cut in 0..WRITTEN.len() {
            let _ = FlexMap::new(&WRITTEN[cut..]).and_then(|map| map.number("d"));
            let _ = FlexMap::new(&WRITTEN[..cut]).and_then(|map| map.number("d"));
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = WRITTEN.to_vec();
                bytes[cut] = value;
                let _ = FlexMap::new(&bytes).map(|map| ["a", "bc", "d"].map(|name| map.number(name)));
            }
        }
        for cut in 0..LISTS.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = LISTS.to_vec();
                bytes[cut] = value;
                let map = FlexMap::new(&bytes);
                let lists = map.iter().flat_map(|map| ["a", "b", "c"].map(|name| map.list(name)));
                assert!(lists.flatten().map(|list| list.numbers().count()).sum::<usize>() <= 3 * bytes.len());
            }
        }
    }
}
