//! Records as text: reading, writing and reading back. Every hostile text is rejected with its line and column.

use proptest::prelude::*;
use texpool_plan::{
    Buffer, InputError, PlanError, Strategy, UsageRecord,
    io::{RecordSet, buffers_from_csv, buffers_to_csv, from_csv, from_text, to_csv, to_minimalloc},
};

use crate::data::{csv_records, json, minimalloc, path};

fn file(name: &str) -> RecordSet {
    from_text(&std::fs::read_to_string(path(name)).unwrap()).unwrap()
}

#[test]
fn both_csv_forms_are_read() {
    let totals = json("records/totals.json");
    for name in totals.as_object().unwrap().keys() {
        assert_eq!(file(&format!("records/{name}.csv")).records, csv_records(name), "{name}");
    }
    for name in ["A.1048576", "F.1048576"] {
        assert_eq!(file(&format!("minimalloc/{name}.csv")).records, minimalloc(name), "{name}");
    }
    let example = file("minimalloc/input.12.csv");
    assert_eq!(example.names, ["b1", "b2", "b3", "b4", "b5"]);
    assert_eq!(example.records[1], UsageRecord::new(3, 8, 4));
}

#[test]
fn a_plan_is_written_where_its_tensors_lie() {
    let set = file("minimalloc/input.12.csv");
    let arena = Strategy::OffsetsGreedyBySize.place(&set.records).unwrap();
    let text = to_minimalloc(&set, Some(&arena)).unwrap();
    assert!(text.starts_with("id,lower,upper,size,offset\nb1,0,3,4,"), "{text}");
    let again = from_csv(&text).unwrap();
    assert_eq!(again.offsets.unwrap(), arena.places.iter().map(|p| p.offset).collect::<Vec<_>>());
    let objects = Strategy::Naive.place(&set.records).unwrap();
    let again = from_csv(&to_minimalloc(&set, Some(&objects)).unwrap()).unwrap();
    assert_eq!(again.offsets.unwrap(), [0, 4, 8, 12, 16]);
}

/// Text, line, column, and a word of the expected message.
type Hostile = (&'static str, usize, usize, &'static str);

const HOSTILE: &[Hostile] = &[
    ("", 1, 1, "no header"),
    ("id,lower,upper\n", 1, 15, "`size` is missing"),
    ("tensor,first_op,size_bytes\n", 1, 27, "`last_op` is missing"),
    ("id,lower,upper,size,size\n", 1, 21, "twice"),
    ("id,lower,upper,size,gap\n", 1, 21, "`gap` is not known"),
    ("id,lower,upper,size\na,3,3,1\n", 2, 5, "never alive"),
    ("id,lower,upper,size\na,3,0,1\n", 2, 5, "before it begins"),
    ("tensor,first_op,last_op,size_bytes\n0,4,3,1\n", 2, 5, "before it begins"),
    ("id,lower,upper,size\n\na,-3,4,1\n", 3, 3, "negative"),
    ("id,lower,upper,size\na,1,4,18446744073709551616\n", 2, 7, "64 bits"),
    ("id,lower,upper,size\na,1,4,1e9\n", 2, 7, "64 bits"),
    ("id,lower,upper,size\na,1,4,\n", 2, 7, "64 bits"),
    ("id,lower,upper,size\na,1,4\n", 2, 6, "3 fields"),
    ("id,lower,upper,size\na,1,4,5,6\n", 2, 9, "5 fields"),
    ("id,lower,upper,size\na,1,4,5\na,2,3,4\n", 3, 1, "already on line 2"),
    ("id,lower,upper,size\n\"a,1,4,5\n", 2, 1, "not closed"),
    ("id,lower,upper,size\n\"a\"b,1,4,5\n", 2, 4, "comma"),
];

#[test]
fn hostile_csv_is_refused_where_it_is_wrong() {
    HOSTILE.iter().for_each(|hostile| is_refused(hostile, &from_csv(hostile.0).unwrap_err()));
}

/// Checks that the error of a hostile text names what is wrong, and where.
fn is_refused(&(text, line, column, word): &Hostile, error: &PlanError) {
    assert!(error.to_string().contains(word), "{text:?}: {error}");
    let &PlanError::Parse { line: l, column: c, .. } = error else { panic!("{error}") };
    assert_eq!((l, c), (line, column), "{text:?}: {error}");
}

/// Sizes whose sum overflows can be read, and the planner rejects them. Steps a billion apart are planned.
#[test]
fn promises_are_kept_or_refused_never_allocated() {
    let text = format!("id,lower,upper,size\na,0,1000000000,{0}\nb,1,4,{0}\n", u64::MAX);
    let set = from_csv(&text).unwrap();
    for &strategy in Strategy::ALL {
        assert_eq!(
            strategy.place(&set.records),
            Err(PlanError::Input(InputError::Overflow { record: 1 })),
            "{strategy}"
        );
    }
    let set = from_csv("id,lower,upper,size\na,0,1000000000,7\nb,999999998,1000000000,5\n").unwrap();
    for &strategy in Strategy::ALL {
        assert_eq!(strategy.place(&set.records).unwrap().total(), 12, "{strategy}");
    }
}

#[cfg(feature = "serde")]
mod as_json {
    use super::{PlanError, file, from_text};
    use texpool_plan::io::to_json;

    #[test]
    fn json_is_read_and_written() {
        let set = file("usage_records/knift_float.json");
        assert_eq!((set.records.len(), set.records[8].size), (21, 1_638_400));
        assert_eq!(from_text(&to_json(&set).unwrap()).unwrap(), set);
    }

    #[test]
    fn hostile_json_is_refused_where_it_is_wrong() {
        for (text, line, column, word) in [
            ("{", 1, 1, "EOF"),
            ("{}", 1, 2, "missing field `records`"),
            ("{\"records\": 5}", 1, 13, "a list of records"),
            ("[{\"first\": 0, \"last\": 1}]", 1, 24, "missing field `size`"),
            ("[\n{\"first\": -1, \"last\": 1, \"size\": 1}]", 2, 12, "invalid value"),
            ("[\n{\"first\": 2, \"last\": 1, \"size\": 1}]", 2, 35, "before it begins"),
            ("[{\"first\": 0, \"last\": 1, \"size\": 1e30}]", 1, 37, "invalid type"),
            (
                "[{\"first\":0,\"last\":1,\"size\":1,\"name\":\"a\"},\n \
                 {\"first\":0,\"last\":1,\"size\":1,\"name\":\"a\"}]",
                2,
                42,
                "twice",
            ),
            ("{\"records\": [], \"records\": []}", 1, 25, "twice"),
            ("[] []", 1, 4, "trailing"),
        ] {
            let error = from_text(text).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(word), "{text:?}: {message}");
            let PlanError::Parse { line: l, column: c, .. } = error else { panic!("{error}") };
            assert_eq!(l, line, "{text:?}: {message}");
            assert!(c.abs_diff(column) <= 1, "{text:?}: {message}");
        }
        let deep = "[".repeat(100_000);
        assert!(from_text(&deep).is_err());
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        records in prop::collection::vec((0usize..1000, 0usize..1000, any::<u64>(), "[a-z,\"]{0,6}"), 0..20)
    ) {
        let mut set = RecordSet::default();
        for (i, (first, length, size, name)) in records.into_iter().enumerate() {
            set.names.push(format!("{name}{i}"));
            set.records.push(UsageRecord::new(first, first + length, size));
        }
        prop_assert_eq!(&from_text(&to_csv(&set)).unwrap(), &set);
        prop_assert_eq!(&from_text(&to_minimalloc(&set, None).unwrap()).unwrap(), &set);
    }

    #[test]
    fn no_text_is_a_panic(text in "(id,lower,upper,size\n)?[a-z0-9,\"\n{}\\[\\]:-]{0,80}") {
        let _ = from_text(&text);
    }
}

/// Like [`HOSTILE`], for columns that only buffers have.
const HOSTILE_COLUMNS: &[Hostile] = &[
    ("id,lower,start,upper,size\n", 1, 10, "`start` is there twice, as another name of `lower`"),
    ("buffer,begin,end\n", 1, 17, "`size` is missing"),
    ("id,lower,upper,size,alignment\na,0,2,4,0\n", 2, 9, "1 or more"),
    ("id,lower,upper,size,alignment\na,0,2,4,\n", 2, 9, "64 bits"),
    ("id,lower,upper,size,alignment,offset\na,0,2,4,8,12\n", 2, 11, "no multiple"),
    ("id,lower,upper,size,offset\na,0,2,4,-8\n", 2, 9, "negative"),
    ("id,lower,upper,size,hint\na,0,2,4,-x\n", 2, 9, "64 bits"),
    ("id,lower,upper,size,gaps\na,0,9,4,2-3 4\n", 2, 13, "a gap is"),
    ("id,lower,upper,size,gaps\na,0,9,4,2-3  7-5\n", 2, 14, "before it begins"),
    ("id,lower,upper,size,gaps\na,0,9,4,5-5\n", 2, 9, "contains no step"),
    ("id,lower,upper,size,gaps\na,0,9,4,2-3@1\n", 2, 9, "a gap is"),
    ("id,lower,upper,size,gaps\na,0,9,4,2-3@1:5\n", 2, 9, "the window 1:5 is not within the size 4"),
    ("id,lower,upper,size,gaps\na,0,9,4,2-10\n", 2, 9, "not within the life 0-9"),
    ("id,lower,upper,size,gaps\na,0,9,4,x-10\n", 2, 9, "64 bits"),
    ("id,lower,upper,size\na,5,5,8\n", 2, 5, "the tensor is never alive: `upper` is one past its last step"),
    ("id,lower,end,size\na,5,4,8\n", 2, 5, "the tensor ends at 4, before it begins at 5"),
    ("id,lower,end,size\na,0,18446744073709551615,4\n", 2, 5, "too large"),
    ("id,lower,upper,size,in_place\na,0,2,4,b\n", 2, 9, "there is no `b`"),
    ("id,lower,upper,size,in_place\na,1,2,4,b\nb,0,3,4,\n", 2, 9, "`b` is last needed at 2, but this begins at 1"),
    ("id,lower,upper,size,in_place\na,0,2,4,a\n", 2, 9, "`a` is last needed at 1, but this begins at 0"),
];

#[test]
fn hostile_columns_are_refused_where_they_are_wrong() {
    HOSTILE_COLUMNS.iter().for_each(|hostile| is_refused(hostile, &buffers_from_csv(hostile.0).unwrap_err()));
}

/// All column names and forms that minimalloc reads: every synonym, the inclusive `end`, and any order of columns.
#[test]
fn every_name_of_a_column_is_read() {
    let expected = [Buffer::new(0..5, 8).named("a").aligned(4).gap_within(1..3, 2..4), Buffer::new(4..6, 2).named("b")];
    for text in [
        "id,lower,upper,size,alignment,gaps\na,0,5,8,4,1-3@2:4\nb,4,6,2,1,\n",
        "buffer,begin,upper,size,alignment,gaps\na,0,5,8,4,1-3@2:4\nb,4,6,2,1,\n",
        "gaps,size,end,start,alignment,buffer_id\n1-2@2:4,8,4,0,4,a\n\n,2,5,4,1,b\n",
        "start,size,hint,buffer,end,alignment,gaps\n0,8,-1,a,4,4,1-2@2:4 \n4,2,,b,5,1,\n",
    ] {
        assert_eq!(buffers_from_csv(text).unwrap(), expected, "{text}");
    }
    let text = "id,lower,upper,size,alignment,hint,gaps,offset\na,0,5,8,1,-1,,\nb,4,6,2,2,0,4-5@1:2,16\n";
    let [a, b] = buffers_from_csv(text).unwrap().try_into().unwrap();
    assert_eq!((a.hint, b.hint, b.offset), (None, Some(0), Some(16)));
    assert_eq!(buffers_to_csv(&[a, b], None).unwrap(), text);
    // The pair may be named before the buffer is, and its name needs quotes.
    let text = "id,lower,upper,size,in_place,offset\na,4,6,8,\"b,c\",\n\"b,c\",0,5,8,,16\n";
    let pair = buffers_from_csv(text).unwrap();
    assert_eq!(pair, [Buffer::new(4..6, 8).named("a").in_place_of("b,c"), Buffer::new(0..5, 8).named("b,c").fixed(16)]);
    assert_eq!(buffers_to_csv(&pair, None).unwrap(), text);
    assert_eq!(RecordSet::from_buffers(&pair[..1]), None);
    let text = "id,lower,upper,size,offset\na,0,5,8,\nb,4,6,2,16\n";
    assert_eq!(buffers_from_csv(text).unwrap().iter().map(|b| b.offset).collect::<Vec<_>>(), [None, Some(16)]);
}
