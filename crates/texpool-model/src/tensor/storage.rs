//! Elements of one of several types, borrowed or owned. Each is stored in its native type: aligned, and accessible
//! without a copy.

use std::fmt;

/// Number of elements shown for debugging; a whole picture would fill the screen.
const SHOWN: usize = 16;

/// Implementation of [`Element`](super::Element). The trait is private, so other crates cannot implement either.
pub trait Storable: Copy + Send + Sync + 'static {
    /// Wraps elements of this type.
    fn borrow(values: &[Self]) -> Slice<'_>;
    /// Returns the elements if they have this type.
    fn borrowed(slice: Slice<'_>) -> Option<&[Self]>;
    /// Wraps mutable elements of this type.
    fn borrow_mut(values: &mut [Self]) -> SliceMut<'_>;
    /// Wraps owned elements of this type.
    fn store(values: Vec<Self>) -> Values;
    /// Returns the owned elements if they have this type.
    fn stored(values: Values) -> Option<Vec<Self>>;
}

/// Runs the same code for each element type: `of_each!(Slice, slice, values => values.len())`.
macro_rules! of_each {
    ($of:ident, $elements:expr, $values:ident => $body:expr) => {
        match $elements {
            $of::F32($values) => $body,
            $of::F16($values) => $body,
            $of::I8($values) => $body,
            $of::U8($values) => $body,
            $of::I16($values) => $body,
            $of::U16($values) => $body,
            $of::I32($values) => $body,
            $of::U32($values) => $body,
            $of::I64($values) => $body,
            $of::U64($values) => $body,
            $of::Bool($values) => $body,
        }
    };
}
pub(super) use of_each;

macro_rules! storage {
    ($($kind:ident: $rust:ty),* $(,)?) => {
        /// Borrowed elements. The variants are those of [`ElementType`](texpool_ops::graph::ElementType).
        #[derive(Clone, Copy)]
        pub enum Slice<'a> {
            $($kind(&'a [$rust])),*
        }

        /// Mutable elements. The variants are those of [`ElementType`](texpool_ops::graph::ElementType).
        pub enum SliceMut<'a> {
            $($kind(&'a mut [$rust])),*
        }

        /// Owned elements. The variants are those of [`ElementType`](texpool_ops::graph::ElementType).
        #[derive(Clone, PartialEq)]
        pub enum Values {
            $($kind(Vec<$rust>)),*
        }

        $(
            impl Storable for $rust {
                fn borrow(values: &[Self]) -> Slice<'_> {
                    Slice::$kind(values)
                }

                fn borrowed(slice: Slice<'_>) -> Option<&[Self]> {
                    match slice {
                        Slice::$kind(values) => Some(values),
                        _ => None,
                    }
                }

                fn borrow_mut(values: &mut [Self]) -> SliceMut<'_> {
                    SliceMut::$kind(values)
                }

                fn store(values: Vec<Self>) -> Values {
                    Values::$kind(values)
                }

                fn stored(values: Values) -> Option<Vec<Self>> {
                    match values {
                        Values::$kind(values) => Some(values),
                        _ => None,
                    }
                }
            }
        )*
    };
}

storage! {
    F32: f32,
    F16: half::f16,
    I8: i8,
    U8: u8,
    I16: i16,
    U16: u16,
    I32: i32,
    U32: u32,
    I64: i64,
    U64: u64,
    Bool: bool,
}

impl Slice<'_> {
    /// Returns the number of elements.
    pub(super) fn len(self) -> usize {
        of_each!(Slice, self, values => values.len())
    }
}

impl SliceMut<'_> {
    /// Borrows the elements.
    pub(super) fn as_slice(&self) -> Slice<'_> {
        of_each!(SliceMut, self, values => Storable::borrow(values))
    }
}

impl Values {
    /// Borrows the elements.
    pub(super) fn as_slice(&self) -> Slice<'_> {
        of_each!(Values, self, values => Storable::borrow(values.as_slice()))
    }
}

impl fmt::Debug for Slice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        of_each!(Slice, self, values => shown(values, f))
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Writes the first few elements, and a mark if there are more.
fn shown<T: fmt::Debug>(values: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut list = f.debug_list();
    list.entries(values.iter().take(SHOWN));
    match values.len() > SHOWN {
        true => list.finish_non_exhaustive(),
        false => list.finish(),
    }
}
