//! JSON: `{"records": [{"first", "last", "size"[, "name"]}]}` with both ends inclusive, or only the list.

use std::{cell::RefCell, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{names::NameIndex, record_set::RecordSet};
use crate::{error::PlanError, record::UsageRecord};

#[derive(Deserialize)]
struct Entry {
    first: usize,
    last: usize,
    size: u64,
    name: Option<String>,
}

/// Reads the records. Other keys of the object are ignored.
///
/// ```
/// use texpool_plan::{UsageRecord, io::from_json};
///
/// let set = from_json(r#"{"model": "m", "records": [{"first": 0, "last": 2, "size": 4, "name": "a"}]}"#)?;
/// assert_eq!((set.names[0].as_str(), set.records[0]), ("a", UsageRecord::new(0, 2, 4)));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn from_json(text: &str) -> Result<RecordSet, PlanError> {
    let read = |text: &str| -> Result<RecordSet, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let set = deserializer.deserialize_any(Document)?;
        deserializer.end()?;
        Ok(set)
    };
    read(text).map_err(|error| PlanError::Parse {
        line: error.line().max(1),
        column: error.column().max(1),
        why: error.to_string(),
    })
}

/// Reads the whole text: a list, or an object with one.
struct Document;

impl<'de> Visitor<'de> for Document {
    type Value = RecordSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `records`, or a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RecordSet, A::Error> {
        Records.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RecordSet, A::Error> {
        let mut set = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "records" {
                map.next_value::<IgnoredAny>()?;
            } else if set.is_some() {
                return Err(A::Error::custom("`records` is there twice"));
            } else {
                set = Some(map.next_value_seed(Records)?);
            }
        }
        set.ok_or_else(|| A::Error::missing_field("records"))
    }
}

/// Reads the list. Entries are checked one by one, so that an error has the position of its entry.
struct Records;

impl<'de> DeserializeSeed<'de> for Records {
    type Value = RecordSet;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RecordSet, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records {
    type Value = RecordSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RecordSet, A::Error> {
        let set = RefCell::new(RecordSet::default());
        let seen = RefCell::new(NameIndex::default());
        while list.next_element_seed(NextEntry { set: &set, seen: &seen })?.is_some() {}
        Ok(set.into_inner())
    }
}

/// Reads one entry and adds it to the set.
struct NextEntry<'a> {
    set: &'a RefCell<RecordSet>,
    seen: &'a RefCell<NameIndex>,
}

impl<'de> DeserializeSeed<'de> for NextEntry<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Entry { first, last, size, name } = Entry::deserialize(deserializer)?;
        let mut set = self.set.borrow_mut();
        let name = name.unwrap_or_else(|| set.records.len().to_string());
        if last < first {
            return Err(D::Error::custom(format!("`{name}` ends at {last}, before it begins at {first}")));
        }
        if self.seen.borrow_mut().find_or_insert(&set.names, &name).is_some() {
            return Err(D::Error::custom(format!("`{name}` is there twice")));
        }
        set.names.push(name);
        set.records.push(UsageRecord::new(first, last, size));
        Ok(())
    }
}

#[derive(Serialize)]
struct Written<'a> {
    records: Vec<WrittenEntry<'a>>,
}

#[derive(Serialize)]
struct WrittenEntry<'a> {
    name: &'a str,
    first: usize,
    last: usize,
    size: u64,
}

/// Writes `{"records": [...]}` in the form that [`from_json`] reads.
///
/// ```
/// use texpool_plan::io::{from_csv, from_json, to_json};
///
/// let set = from_csv("tensor,first_op,last_op,size_bytes\na,0,2,4\n")?;
/// assert_eq!(from_json(&to_json(&set)?)?, set);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] if the serialiser fails, which cannot happen for a valid set.
pub fn to_json(set: &RecordSet) -> Result<String, PlanError> {
    let entries = set.names.iter().zip(&set.records);
    let records = entries.map(|(name, r)| WrittenEntry { name, first: r.first, last: r.last, size: r.size }).collect();
    serde_json::to_string_pretty(&Written { records }).map_err(|error| PlanError::Parse {
        line: 1,
        column: 1,
        why: error.to_string(),
    })
}
