//! Files that are not models, truncated models, and models with changed bytes. The importer returns a result or a
//! typed error, without a panic, a hang or excessive memory.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use texpool_model::import::{ImportError, open};

use super::{import, tiny::tiny};
use crate::support::{
    t,
    tflite::{Field, Model, Table, file, flags},
};

#[test]
fn empty_files_and_other_types_are_named() {
    assert!(matches!(import(Vec::new()), Err(ImportError::Empty)));
    let cases: [(&[u8], &str); 7] = [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is a picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "it is a picture"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "zip"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "NumPy"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"TFL3", "too short"),
        (b"\x1c\0\0\0TFL2\0\0\0\0", "neither"),
    ];
    for (bytes, what) in cases {
        let error = import(bytes.to_vec()).unwrap_err();
        assert!(matches!(error, ImportError::NotAModel { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("missing.tflite"), folder.path().to_owned(), "/dev/null".into()] {
        let error = open(&path).unwrap_err();
        assert!(matches!(error, ImportError::Read { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    let path = folder.path().join("empty.tflite");
    std::fs::write(&path, []).unwrap();
    assert!(matches!(open(&path), Err(ImportError::Empty)));
}

#[test]
fn a_model_cut_at_any_length_is_an_error() {
    let whole = tiny();
    assert!(import(whole.clone()).is_ok());
    // The writer puts the root first and no padding after the last value, so every byte matters.
    for length in 0..whole.len() {
        assert!(import(whole[..length].to_vec()).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn every_byte_flipped_is_an_answer_or_an_error() {
    let whole = tiny();
    let began = Instant::now();
    let mut refused = 0;
    for position in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[position] ^= flip;
            refused += usize::from(import(bytes).is_err());
        }
    }
    assert!(refused > whole.len() / 2, "only {refused} of {} changes were noticed", 3 * whole.len());
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

/// Replaces every 32-bit number of the file in turn by invalid offsets and lengths.
#[test]
fn every_offset_and_length_taken_to_its_limits() {
    let whole = tiny();
    for position in (0..whole.len() - 3).step_by(4) {
        for value in [0, 1, 4, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, 0xffff_ffff, whole.len() as u32] {
            let mut bytes = whole.clone();
            bytes[position..position + 4].copy_from_slice(&u32::to_le_bytes(value));
            let _ = import(bytes);
        }
    }
}

/// Extents whose product overflows, and a billion elements, which are counted but not allocated.
#[test]
fn shapes_of_a_billion_and_sizes_that_overflow() {
    for dims in [&[1, i32::MAX, i32::MAX, 3][..], &[i32::MAX; 4], &[i32::MAX; 8], &[65536, 65536], &[1 << 30, 2, 2]] {
        let mut m = Model::new();
        let (x, y) = (m.floats("image", dims), m.floats("y", dims));
        m.op(19, &[x], y, None);
        let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(text.contains("`image` is too large"), "{text}");
    }
    // A billion elements can be counted, so the importer leaves the limit to the device. Nothing of that size is
    // allocated here.
    let mut m = Model::new();
    let (x, y) = (m.floats("image", &[1, 1_000_000_000, 1, 1]), m.floats("y", &[1, 1_000_000_000, 1, 1]));
    m.op(19, &[x], y, None);
    assert_eq!(import(m.bytes(&[x], &[y])).unwrap().shape(t(0)).len(), 1_000_000_000);
}

/// Many operators that share one long list: work must not grow with the product.
#[test]
fn shared_parts_do_not_multiply_work() {
    let mut m = Model::new();
    let (x, y) = (m.floats(&"x".repeat(100_000), &[4]), m.floats("y", &[4]));
    let long = m.ints("long", &vec![1; 100_000]);
    for _ in 0..2_000 {
        m.op(22, &[x, long], y, None);
    }
    let began = Instant::now();
    let bytes = m.bytes(&[x], &[y]);
    let wrote = began.elapsed();
    let error = import(bytes).unwrap_err();
    assert!(matches!(&error, ImportError::Unsupported(all) if all.len() == 2_000));
    assert!(error.to_string().len() < 2_000 * 2_000, "messages stay short");
    assert!(began.elapsed() - wrote < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// A claimed size alone must not cause an allocation.
#[test]
fn a_vector_that_claims_four_billion_entries() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[4]), m.floats("y", &[4]));
    m.op(0, &[x, x], y, flags(11, &[0]));
    let good = m.bytes(&[x], &[y]);
    // The operator's two inputs, as a vector: its length, then 0 and 0.
    let mut claims = 0;
    for position in (0..good.len() - 11).step_by(4) {
        if good[position..position + 12] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] {
            let mut bytes = good.clone();
            bytes[position..position + 4].fill(0xff);
            assert!(matches!(import(bytes), Err(ImportError::Malformed { .. })));
            claims += 1;
        }
    }
    assert!(claims > 0, "the vector was not found");
}

/// Tables of the schema without a single field.
#[test]
fn tables_without_fields() {
    for slot in [6, 8, 12] {
        let root = Table(vec![(4, Field::I32(3)), (slot, Field::Tables(vec![Table::default()]))]);
        assert!(import(file(&root)).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn random_changes_are_an_answer_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = tiny();
        for (position, value) in changes {
            let position = position.index(bytes.len());
            bytes[position] = value;
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        if let Ok(graph) = import(bytes) {
            prop_assert!(texpool_ops::graph::check(&graph).is_ok());
        }
    }

    /// A file with a valid beginning and random bytes after it.
    #[test]
    fn random_bytes_behind_the_identifier(mut bytes in prop::collection::vec(any::<u8>(), 8..512)) {
        bytes[4..8].copy_from_slice(b"TFL3");
        prop_assert!(import(bytes).is_err());
    }
}
