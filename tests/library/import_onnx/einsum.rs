//! Einsum against sums over all indices.

use super::support::{
    onnx::{Attr, Model},
    run,
};

/// Extents of the indices of all cases.
fn extent(index: char) -> usize {
    match index {
        'b' => 2,
        'i' | 'j' => 3,
        'k' => 4,
        _ => 5,
    }
}

/// Sums products of operands that count on from 1, over all indices.
fn summed(terms: &[Vec<char>], result: &[char]) -> Vec<f32> {
    let mut indices: Vec<char> = terms.concat();
    indices.sort_unstable();
    indices.dedup();
    let at = |term: &[char], values: &[usize]| {
        term.iter().fold(0, |at, c| at * extent(*c) + values[indices.iter().position(|i| i == c).unwrap()])
    };
    let len = |term: &[char]| term.iter().map(|&c| extent(c)).product::<usize>();
    let mut sums = vec![0.0; len(result)];
    for number in 0..len(&indices) {
        let mut rest = number;
        let values: Vec<usize> = indices
            .iter()
            .map(|&c| {
                let value = rest % extent(c);
                rest /= extent(c);
                value
            })
            .collect();
        let mut first = 1;
        let mut product = 1.0;
        for term in terms {
            product *= (first + at(term, &values)) as f32;
            first += len(term);
        }
        sums[at(result, &values)] += product;
    }
    sums
}

#[test]
fn operands_may_be_many_and_name_an_index_twice() {
    for equation in [
        "ij->ji",
        "ij->",
        "bik->bi",
        "ii->i",
        "bii->ib",
        "iji->j",
        "ii->",
        "ik,kj->ij",
        "ik,bk->i",
        "ii,jj->ij",
        "i,j->",
        "ij,jk,kl->il",
        "bi,bk,b->bik",
        "i,j,k->kij",
        "i,i,i->i",
        "bij,bjk,bk,bl->bil",
    ] {
        let (left, right) = equation.split_once("->").unwrap();
        let terms: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
        let result: Vec<char> = right.chars().collect();
        let mut m = Model::new();
        let names: Vec<String> = (0..terms.len()).map(|i| format!("x{i}")).collect();
        for (name, term) in names.iter().zip(&terms) {
            m.input(name, &term.iter().map(|&c| extent(c) as i64).collect::<Vec<_>>());
        }
        let operands: Vec<&str> = names.iter().map(String::as_str).collect();
        m.node("Einsum", &operands, &["y"], &[("equation", Attr::Text(equation))]);
        m.output("y");
        let (dims, values) = run(&m).remove(0);
        assert_eq!(dims, result.iter().map(|&c| extent(c)).collect::<Vec<_>>(), "{equation}");
        for (value, expected) in values.iter().zip(summed(&terms, &result)) {
            assert!((value - expected).abs() <= 1e-5 * expected.abs(), "{equation}: {value}, not {expected}");
        }
    }
}
