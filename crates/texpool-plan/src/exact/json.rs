//! Proofs in JSON and other formats. Shallow proofs are nested; deep proofs are a list, because readers limit the
//! depth of a document.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::proof::{Case, Prices, Proof};

/// Largest depth at which a proof is written in nested form. Each case takes two levels of JSON. `serde_json` reads
/// 128 levels, and the document around the proof takes some.
const MAX_NESTED_DEPTH: usize = 32;

/// The nested form of a proof.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Nested<P> {
    Leaf(P),
    Count { size: u64, count: u64, fewer: Box<Self>, enough: Box<Self> },
    Record { record: usize, size: u64, smaller: Box<Self>, larger: Box<Self> },
}

impl Nested<Prices> {
    /// Appends the cases in order. Recursion is safe, because the reader has already limited the depth of its input.
    fn flatten(self, cases: &mut Vec<Case>) {
        let (case, sides) = match self {
            Self::Leaf(prices) => return cases.push(Case::Leaf(prices)),
            Self::Count { size, count, fewer, enough } => (Case::Count { size, count }, [fewer, enough]),
            Self::Record { record, size, smaller, larger } => (Case::Record { record, size }, [smaller, larger]),
        };
        cases.push(case);
        sides.into_iter().for_each(|side| side.flatten(cases));
    }
}

/// The nested form of the first tree of `cases`, and the rest.
fn nest(cases: &[Case]) -> Option<(Nested<&Prices>, &[Case])> {
    let (case, rest) = cases.split_first()?;
    if let Case::Leaf(prices) = case {
        return Some((Nested::Leaf(prices), rest));
    }
    let (first, rest) = nest(rest)?;
    let (second, rest) = nest(rest)?;
    let (first, second) = (Box::new(first), Box::new(second));
    let nested = match *case {
        Case::Leaf(_) => return None,
        Case::Count { size, count } => Nested::Count { size, count, fewer: first, enough: second },
        Case::Record { record, size } => Nested::Record { record, size, smaller: first, larger: second },
    };
    Some((nested, rest))
}

impl Serialize for Proof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nested = if self.depth() <= MAX_NESTED_DEPTH { nest(self.cases()) } else { None };
        match nested {
            Some((nested, _)) => nested.serialize(serializer),
            None => serializer.collect_seq(self.cases()),
        }
    }
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ProofVisitor)
    }
}

/// Reads a list of cases, or a case with its sides nested.
struct ProofVisitor;

impl<'de> Visitor<'de> for ProofVisitor {
    type Value = Proof;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a proof: a case with its sides, or a list of cases")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Proof, A::Error> {
        let mut cases = Vec::new();
        while let Some(case) = list.next_element()? {
            cases.push(case);
        }
        Proof::from_cases(cases).ok_or_else(|| A::Error::custom("the cases of the proof are not one tree"))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Proof, A::Error> {
        let mut cases = Vec::new();
        Nested::<Prices>::deserialize(MapAccessDeserializer::new(map))?.flatten(&mut cases);
        Proof::from_cases(cases).ok_or_else(|| A::Error::custom("the cases of the proof are not one tree"))
    }
}
