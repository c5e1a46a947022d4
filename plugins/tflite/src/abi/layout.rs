//! Compares the layouts of structs with the C headers.

/// Asserts the size of a struct and the offsets of its fields.
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
