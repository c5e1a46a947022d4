//! Layouts, compared with those of C's headers.

/// Compares the size of a struct, and where its fields lie, with the header's.
macro_rules! layout {
    ($type:ty, $size:literal, $($field:ident: $offset:literal),* $(,)?) => {
        #[cfg(target_pointer_width = "64")]
        const _: () = {
            assert!(size_of::<$type>() == $size);
            $(assert!(std::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}
pub(super) use layout;
