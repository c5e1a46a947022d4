//! The rule that says when a reshape needs no step, against counting out every element.

#![cfg(test)]

use proptest::prelude::*;
use texpool_ops::graph::{Shape, texels_agree};

/// Texel and lane of every element of a whole tensor, in dense order.
fn lanes(shape: Shape) -> Vec<usize> {
    let mut all = Vec::with_capacity(shape.len());
    for row in 0..shape.rows() {
        for x in 0..shape.w {
            for c in 0..shape.c {
                let texel = row * shape.row_texels() + c / 4 * shape.w + x;
                all.push(texel * 4 + c % 4);
            }
        }
    }
    all
}

fn agree_by_counting(a: Shape, b: Shape) -> bool {
    a.len() == b.len() && a.texels() == b.texels() && lanes(a) == lanes(b)
}

#[test]
fn agrees_with_counting_for_every_small_pair() {
    for len in [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 24, 30, 32, 36, 40, 48, 60, 64, 72, 80, 96, 120] {
        let divisors: Vec<usize> = (1..=len).filter(|d| len % d == 0).collect();
        let mut shapes = Vec::new();
        for &w in &divisors {
            for &c in divisors.iter().filter(|&&c| (len / w) % c == 0) {
                shapes.push(Shape::new(1, len / w / c, w, c));
            }
        }
        for &a in &shapes {
            for &b in &shapes {
                assert_eq!(texels_agree(a, b), agree_by_counting(a, b), "{a} as {b}");
            }
        }
    }
}

/// Pairs of shapes that occur in networks, with the answer by hand.
#[test]
fn the_cases_that_matter() {
    let agree = |a: [usize; 4], b: [usize; 4]| texels_agree(a.into(), b.into());
    assert!(agree([1, 1, 1, 1001], [1, 1, 1, 1001]));
    assert!(!agree([1, 7, 7, 64], [7, 7, 1, 64]), "columns, then rows");
    assert!(agree([1, 4, 1, 8], [1, 1, 1, 32]), "one column, whole slices");
    assert!(agree([1, 8, 16, 4], [1, 1, 1, 512]), "one whole slice");
    assert!(agree([1, 1, 512, 1], [1, 16, 32, 1]), "one channel under other rows");
    assert!(!agree([1, 16, 16, 2], [1, 1, 512, 1]), "two channels a texel, then one");
    assert!(!agree([1, 7, 7, 1024], [1, 1, 1, 50176]), "slices lie apart");
    assert!(!agree([1, 1, 4, 3], [1, 1, 1, 12]), "three channels leave a gap");
    assert!(!agree([1, 1, 1, 12], [1, 1, 1, 16]), "other sizes");
}

/// Two ways to deal the same prime factors out to the four axes.
fn two_shapes_of_one_size() -> impl Strategy<Value = (Shape, Shape)> {
    let factor = prop::sample::select(vec![2_usize, 2, 3, 5, 7]);
    prop::collection::vec((factor, 0..4_usize, 0..4_usize), 0..7).prop_map(|factors| {
        let (mut a, mut b) = ([1; 4], [1; 4]);
        for (factor, at_a, at_b) in factors {
            a[at_a] *= factor;
            b[at_b] *= factor;
        }
        (a.into(), b.into())
    })
}

proptest! {
    #[test]
    fn agrees_with_counting_for_any_pair((a, b) in two_shapes_of_one_size()) {
        prop_assert_eq!(texels_agree(a, b), agree_by_counting(a, b));
    }
}
