//! Certificates of any depth are written, read, verified and dropped on a small stack. Hostile ones give errors.

use std::thread;

use texpool_plan::{Case, Certificate, PlanError, Prices, Proof, UsageRecord, verify_certificate};

fn records() -> Vec<UsageRecord> {
    vec![UsageRecord::new(0, 2, 6), UsageRecord::new(1, 3, 4)]
}

/// Prices that prove a bound of 10: each object costs the difference between its size and the next one.
fn prices() -> Prices {
    Prices { count: vec![(4, 4), (6, 2)], ..Prices::default() }
}

/// Builds a proof with `depth` nested cases, alternating between object counts and records. The same prices close
/// each branch.
fn deep(depth: usize) -> Certificate {
    let mut cases = Vec::new();
    for level in 0..depth {
        cases.push(match level % 2 {
            0 => Case::Count { size: 4, count: 2 },
            _ => Case::Record { record: 1, size: 6 },
        });
        cases.push(Case::Leaf(prices()));
    }
    cases.push(Case::Leaf(prices()));
    Certificate { bound: 10, scale: 1, proof: Proof::from_cases(cases).unwrap() }
}

/// Guards against recursion: this stack is too small to hold a frame for each of thousands of cases.
fn on_a_small_stack(kib: usize, work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(kib << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_certificates_are_verified_compared_and_dropped() {
    on_a_small_stack(64, || {
        for depth in [1, 129, 500, 5000] {
            let certificate = deep(depth);
            assert_eq!(verify_certificate(&records(), &certificate), Ok(10), "{depth}");
            assert_eq!(certificate, certificate.clone());
            assert!(format!("{certificate:?}").len() > depth);
            let more = Certificate { bound: 11, ..certificate };
            assert!(matches!(verify_certificate(&records(), &more), Err(PlanError::BadCertificate { .. })));
        }
    });
}

/// A list of cases that does not form a tree proves nothing and is rejected.
#[test]
fn cases_that_are_not_one_tree_are_refused() {
    let (leaf, split) = (|| Case::Leaf(prices()), || Case::Count { size: 4, count: 1 });
    for cases in [
        vec![],
        vec![split()],
        vec![split(), leaf()],
        vec![leaf(), leaf()],
        vec![split(), leaf(), leaf(), leaf()],
        vec![leaf(), split(), leaf()],
    ] {
        assert_eq!(Proof::from_cases(cases.clone()), None, "{cases:?}");
    }
    let by_hand =
        Proof::count(4, 1, Proof::leaf(prices()), Proof::record(0, 6, Proof::leaf(prices()), Proof::leaf(prices())));
    assert_eq!(Proof::from_cases(by_hand.cases().to_vec()), Some(by_hand));
}

#[cfg(feature = "serde")]
mod as_json {
    use super::*;

    #[test]
    fn certificates_of_any_depth_are_written_and_read_again() {
        for depth in [0, 1, 31, 32, 33, 129, 500, 5000] {
            let certificate = deep(depth);
            let text = serde_json::to_string(&certificate).unwrap();
            let again: Certificate = serde_json::from_str(&text).unwrap();
            assert_eq!(again, certificate, "{depth}");
            assert_eq!(verify_certificate(&records(), &again), Ok(10), "{depth}");
        }
    }

    /// Documents written before proofs became lists can still be read, and shallow proofs are still written in that
    /// form.
    #[test]
    fn shallow_proofs_nest_in_json() {
        let leaf = r#"{"leaf":{"clique":[],"count":[[4,4],[6,2]],"refund":[]}}"#;
        let proof = format!(
            r#"{{"count":{{"size":4,"count":2,"fewer":{leaf},"enough":{{"record":{{"record":1,"size":6,"smaller":{leaf},"larger":{leaf}}}}}}}}}"#
        );
        let text = format!(r#"{{"bound":10,"scale":1,"proof":{proof}}}"#);
        let read: Certificate = serde_json::from_str(&text).unwrap();
        assert_eq!(read, deep(2));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    /// Guards against stack overflow on hostile files: a proof that is too deep, truncated or not a tree gives an
    /// error.
    #[test]
    fn hostile_json_is_an_error() {
        // The JSON reader itself recurses up to its own depth limit.
        on_a_small_stack(1024, || {
            let open = r#"{"count":{"size":4,"count":1,"fewer":"#;
            let deep = format!(r#"{{"bound":1,"scale":1,"proof":{}"#, open.repeat(100_000));
            let list = r#"{"bound":1,"scale":1,"proof":[{"count":{"size":4,"count":1}}]}"#;
            let lists = format!(r#"{{"bound":1,"scale":1,"proof":{}"#, "[".repeat(100_000));
            let nothing = r#"{"bound":1,"scale":1,"proof":[]}"#;
            for text in [deep.as_str(), list, &lists, nothing, r#"{"bound":1,"scale":1,"proof":7}"#] {
                assert!(serde_json::from_str::<Certificate>(text).is_err());
            }
        });
    }
}
