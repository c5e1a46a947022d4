//! The Rust types that elements may have.

use super::storage::{Slice, Storable, of_each};
use texpool_ops::graph::ElementType;

/// A Rust type of elements: floats, integers and truth values. Other crates cannot add theirs.
///
/// ```
/// use texpool::{Element, TensorView};
/// use texpool::graph::ElementType;
///
/// fn type_of<T: Element>(values: &[T]) -> ElementType {
///     TensorView::dense(values).element_type()
/// }
///
/// assert_eq!((type_of(&[1i8, 2]), <f32 as Element>::TYPE), (ElementType::I8, ElementType::F32));
/// ```
pub trait Element: Storable {
    /// The type's name among those of models.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty: $kind:ident),* $(,)?) => {$(
        impl Element for $rust {
            const TYPE: ElementType = ElementType::$kind;
        }
    )*};
}

elements! {
    f32: F32,
    half::f16: F16,
    i8: I8,
    u8: U8,
    i16: I16,
    u16: U16,
    i32: I32,
    u32: U32,
    i64: I64,
    u64: U64,
    bool: Bool,
}

/// Type of some elements.
pub(super) fn type_of(elements: Slice<'_>) -> ElementType {
    fn of<T: Element>(_: &[T]) -> ElementType {
        T::TYPE
    }
    of_each!(Slice, elements, values => of(values))
}
