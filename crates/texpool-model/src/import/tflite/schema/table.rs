//! The macro that declares tables.

/// Generates an accessor. It returns a plain value if the schema has a default, else an `Option`.
macro_rules! accessor {
    ($field:ident, $slot:literal, $kind:ty) => {
        pub(crate) fn $field(&self) -> Option<<$kind as $crate::import::tflite::reader::Kind>::Value<'a>> {
            self.0.get::<$kind>($slot)
        }
    };
    ($field:ident, $slot:literal, $kind:ty, $default:expr) => {
        pub(crate) fn $field(&self) -> $kind {
            self.0.get::<$kind>($slot).unwrap_or($default)
        }
    };
}
pub(super) use accessor;

/// Declares tables with fields `field: Kind = vtable slot, default if any;`, and the verifier of a table's union.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident $(union $union:ident)? {
        $($field:ident: $kind:ty = $slot:literal $(, $default:expr)?;)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name<'a>(pub(super) $crate::import::tflite::reader::Table<'a>);

        impl<'a> $name<'a> {
            $($crate::import::tflite::schema::table::accessor!($field, $slot, $kind $(, $default)?);)*
        }

        impl flatbuffers::Verifiable for $name<'_> {
            fn run_verifier(
                verifier: &mut flatbuffers::Verifier,
                position: usize,
            ) -> Result<(), flatbuffers::InvalidFlatbuffer> {
                let table = verifier.visit_table(position)?
                    $(.visit_field::<<$kind as $crate::import::tflite::reader::Kind>::Checked>(
                        stringify!($field), $slot, false)?)*;
                $(let table = $union(table)?;)?
                table.finish();
                Ok(())
            }
        }

        impl $crate::import::tflite::reader::Schema for $name<'static> {
            type Wrapper<'a> = $name<'a>;
            fn wrap(table: $crate::import::tflite::reader::Table<'_>) -> $name<'_> {
                $name(table)
            }
        }
    )* };
}
pub(super) use tables;
