//! Reads FlatBuffers tables with bounds-checked loads, without `unsafe`.
//!
//! The `flatbuffers` crate verifies a whole file with safe code, but its accessors are `unsafe` for every field. The
//! few loads in this file replace them. A load outside the bytes returns `None`, like an absent field; after
//! verification that cannot happen.

use std::{marker::PhantomData, ops::Range};

use flatbuffers::{ForwardsUOffset, Vector, Verifiable};

/// A table at a position in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Table<'a> {
    /// A table without fields: all fields have their defaults.
    pub(super) const EMPTY: Table<'static> = Table { bytes: &[], position: 0 };

    /// The file's root table.
    pub(super) fn root(bytes: &'a [u8]) -> Option<Self> {
        follow(bytes, 0).map(|position| Self { bytes, position })
    }

    /// Returns the value of the field at `slot` of the vtable, if the field is present.
    pub(super) fn get<K: Kind>(self, slot: u16) -> Option<K::Value<'a>> {
        K::read(self.bytes, self.field(slot)?)
    }

    /// Returns the position in the file that the field at `slot` refers to, if the field is present.
    pub(super) fn target(self, slot: u16) -> Option<usize> {
        follow(self.bytes, self.field(slot)?)
    }

    /// Returns the positions in the file that the elements of a vector of tables refer to.
    pub(super) fn targets(self, slot: u16) -> Option<Vec<usize>> {
        let (start, length) = vector(self.bytes, self.field(slot)?)?;
        self.bytes.get(start..start.checked_add(length.checked_mul(4)?)?)?;
        (0..length).map(|i| follow(self.bytes, start + 4 * i)).collect()
    }

    /// Returns the position of the table's vtable and its length in bytes.
    pub(super) fn vtable(self) -> Option<(usize, u16)> {
        // Signed: a vtable may be before or behind its tables.
        let back = i32::from_le_bytes(load(self.bytes, self.position)?);
        let vtable = usize::try_from((self.position as i64).checked_sub(i64::from(back))?).ok()?;
        Some((vtable, u16::from_le_bytes(load(self.bytes, vtable)?)))
    }

    fn field(self, slot: u16) -> Option<usize> {
        let (vtable, length) = self.vtable()?;
        // A vtable ends with the last field that was set by its writer, or known to it.
        if slot >= length {
            return None;
        }
        match u16::from_le_bytes(load(self.bytes, vtable.checked_add(usize::from(slot))?)?) {
            0 => None,
            offset => self.position.checked_add(usize::from(offset)),
        }
    }
}

fn load<const N: usize>(bytes: &[u8], position: usize) -> Option<[u8; N]> {
    bytes.get(position..position.checked_add(N)?)?.first_chunk().copied()
}

fn follow(bytes: &[u8], position: usize) -> Option<usize> {
    let offset = u32::from_le_bytes(load(bytes, position)?);
    position.checked_add(usize::try_from(offset).ok()?)
}

/// Returns start and length of a vector.
fn vector(bytes: &[u8], position: usize) -> Option<(usize, usize)> {
    let start = follow(bytes, position)?;
    let length = u32::from_le_bytes(load(bytes, start)?);
    Some((start.checked_add(4)?, usize::try_from(length).ok()?))
}

/// A kind of field, which determines how it is verified and read.
pub(super) trait Kind {
    /// Type that the verifier checks at the field's position.
    type Checked: Verifiable;
    /// Type that a read returns.
    type Value<'a>;
    /// Reads the value at `position`.
    fn read(bytes: &[u8], position: usize) -> Option<Self::Value<'_>>;
}

macro_rules! scalars {
    ($($scalar:ty),*) => { $(
        impl Kind for $scalar {
            type Checked = $scalar;
            type Value<'a> = $scalar;
            fn read(bytes: &[u8], position: usize) -> Option<$scalar> {
                load(bytes, position).map(<$scalar>::from_le_bytes)
            }
        }
    )* };
}
scalars!(i8, u8, i32, u32, u64, f32);

impl Kind for bool {
    type Checked = Self;
    type Value<'a> = Self;
    fn read(bytes: &[u8], position: usize) -> Option<Self> {
        bytes.get(position).map(|&b| b != 0)
    }
}

/// A vector of bytes, returned as its range in the file.
#[derive(Debug)]
pub(super) struct Octets;

impl Kind for Octets {
    type Checked = ForwardsUOffset<Vector<'static, u8>>;
    type Value<'a> = Range<usize>;
    fn read(bytes: &[u8], position: usize) -> Option<Range<usize>> {
        let (start, length) = vector(bytes, position)?;
        let range = start..start.checked_add(length)?;
        bytes.get(range.clone()).map(|_| range)
    }
}

/// Maximum length of a text in bytes. Names are used in messages, which must not grow without limit.
const TEXT_BYTES: usize = 1024;

/// A string, or a vector of bytes that should be one. Invalid UTF-8 is replaced.
#[derive(Debug)]
pub(super) struct Text;

impl Kind for Text {
    type Checked = ForwardsUOffset<Vector<'static, u8>>;
    type Value<'a> = String;
    fn read(bytes: &[u8], position: usize) -> Option<String> {
        let Range { start, end } = Octets::read(bytes, position)?;
        let text = bytes.get(start..end.min(start.saturating_add(TEXT_BYTES)))?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// A vector of numbers, returned as a `Vec`.
#[derive(Debug)]
pub(super) struct Numbers<T>(PhantomData<T>);

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Kind for Numbers<$number> {
            type Checked = ForwardsUOffset<Vector<'static, $number>>;
            type Value<'a> = Vec<$number>;
            fn read(bytes: &[u8], position: usize) -> Option<Vec<$number>> {
                const SIZE: usize = size_of::<$number>();
                let (start, length) = vector(bytes, position)?;
                let end = start.checked_add(length.checked_mul(SIZE)?)?;
                Some(bytes.get(start..end)?.as_chunks::<SIZE>().0.iter().map(|&n| <$number>::from_le_bytes(n)).collect())
            }
        }
    )* };
}
numbers!(i32, i64, u16, u8, f32);

/// A table type of the schema, which wraps a [`Table`].
pub(super) trait Schema: Verifiable + 'static {
    /// Type of the wrapper.
    type Wrapper<'a>;
    /// Wraps a table.
    fn wrap(table: Table<'_>) -> Self::Wrapper<'_>;
}

/// A table.
#[derive(Debug)]
pub(super) struct TableOf<S>(PhantomData<S>);

impl<S: Schema> Kind for TableOf<S> {
    type Checked = ForwardsUOffset<S>;
    type Value<'a> = S::Wrapper<'a>;
    fn read(bytes: &[u8], position: usize) -> Option<S::Wrapper<'_>> {
        follow(bytes, position).map(|position| S::wrap(Table { bytes, position }))
    }
}

/// A vector of tables.
#[derive(Debug)]
pub(super) struct TablesOf<S>(PhantomData<S>);

impl<S: Schema> Kind for TablesOf<S> {
    type Checked = ForwardsUOffset<Vector<'static, ForwardsUOffset<S>>>;
    type Value<'a> = Vec<S::Wrapper<'a>>;
    fn read(bytes: &[u8], position: usize) -> Option<Vec<S::Wrapper<'_>>> {
        let (start, length) = vector(bytes, position)?;
        // Checks that all offsets are present before following any, since a stated length could be arbitrary.
        bytes.get(start..start.checked_add(length.checked_mul(4)?)?)?;
        (0..length).map(|i| follow(bytes, start + 4 * i).map(|position| S::wrap(Table { bytes, position }))).collect()
    }
}

/// The value of a union: a table whose type is given by another field. Must be verified according to that type.
#[derive(Debug)]
pub(super) struct Unknown;

impl Unknown {
    /// Returns the table that the union's value field points to.
    pub(super) fn at(table: Table<'_>, slot: u16) -> Option<Table<'_>> {
        let position = follow(table.bytes, table.field(slot)?)?;
        Some(Table { bytes: table.bytes, position })
    }
}
