//! Reads the test data of the planner.

use std::{fs, path::PathBuf};

use serde_json::Value;
use texpool_plan::UsageRecord;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

pub(crate) fn json(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path(name)).expect(name)).expect(name)
}

/// Reads `tests/data/records/NAME.csv`: `tensor,first_op,last_op,size_bytes,...`.
pub(crate) fn csv_records(name: &str) -> Vec<UsageRecord> {
    let text = fs::read_to_string(path(&format!("records/{name}.csv"))).expect(name);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().expect(line);
        UsageRecord::new(number(1) as usize, number(2) as usize, number(3))
    };
    text.lines().skip(1).map(row).collect()
}

/// Reads records from a JSON array of `{size, first, last}`.
pub(crate) fn json_records(value: &Value) -> Vec<UsageRecord> {
    let record = |v: &Value| {
        let number = |key: &str| v[key].as_u64().expect(key);
        UsageRecord::new(number("first") as usize, number("last") as usize, number("size"))
    };
    value.as_array().expect("records").iter().map(record).collect()
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("numbers").iter().map(|v| v.as_u64().expect("number")).collect()
}

pub(crate) fn lists(value: &Value) -> Vec<Vec<u64>> {
    value.as_array().expect("lists").iter().map(numbers).collect()
}

/// Reads `tests/data/minimalloc/NAME.csv`: `id,lower,upper,size`, upper exclusive.
pub(crate) fn minimalloc(name: &str) -> Vec<UsageRecord> {
    let text = fs::read_to_string(path(&format!("minimalloc/{name}.csv"))).expect(name);
    let row = |line: &str| {
        let fields: Vec<u64> = line.split(',').skip(1).map(|f| f.parse().expect(line)).collect();
        UsageRecord::new(fields[0] as usize, fields[1] as usize - 1, fields[2])
    };
    text.lines().skip(1).map(row).collect()
}

/// Returns pseudo-random tensors with short live ranges, over as many steps as there are tensors. Deterministic.
pub(crate) fn short_lived(records: usize) -> Vec<UsageRecord> {
    random(records, 20, |size| (size + 1) << 10)
}

/// Like [`short_lived`], but live ranges last up to half of all steps.
pub(crate) fn long_lived(records: usize) -> Vec<UsageRecord> {
    random(records, records / 2, |size| size + 1)
}

/// Returns pseudo-random tensors of which about a fortieth are alive at a time.
pub(crate) fn dense(records: usize) -> Vec<UsageRecord> {
    random(records, records / 20, |size| size + 1)
}

fn random(records: usize, life: usize, size: impl Fn(u64) -> u64) -> Vec<UsageRecord> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (((state >> 32) * limit as u64) >> 32) as usize
    };
    let record = |_| {
        let first = below(records);
        UsageRecord::new(first, first + below(life), size(below(1000) as u64))
    };
    (0..records).map(record).collect()
}

/// Returns tensors that are all alive at the same time, each of a different size.
pub(crate) fn all_alive(records: usize) -> Vec<UsageRecord> {
    (0..records).map(|i| UsageRecord::new(i, 2 * records + i, 1000 + i as u64)).collect()
}

/// Reads the 23 sets with reference totals: the entry of `index.json`, and the records.
pub(crate) fn usage_record_sets() -> Vec<(Value, Vec<UsageRecord>)> {
    let index = json("usage_records/index.json");
    let instances = index["instances"].as_array().expect("instances");
    let set = |instance: &Value| {
        let name = instance["name"].as_str().expect("name");
        (instance.clone(), json_records(&json(&format!("usage_records/{name}.json"))["records"]))
    };
    instances.iter().map(set).collect()
}
