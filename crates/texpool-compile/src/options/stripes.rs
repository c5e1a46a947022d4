//! Numbers of stripes that the caller sets instead of a search.

use std::{collections::BTreeMap, num::NonZeroU32};

/// Numbers of stripes in which operators run, if the caller sets them. These are the phases of Minakova and Stefanov
/// (2020). A stripe is some rows of an operator's result, and the stripes of an operator differ by a row at most.
///
/// Neighbours with the same number of stripes run interleaved if one needs the rows of the other. The
/// [objective](crate::Objective) then only chooses which concatenations and pads are written in place, and the
/// [tiling](crate::Tiling) does not matter. What is streamed does not change either, so a limit is met or refused.
///
/// ```
/// use texpool_compile::{CompileError, CompileOptions, Stripes, StripesError, compile};
/// use texpool_ops::graph::{GraphBuilder, Unary};
/// use texpool_plan::SearchControl;
///
/// let mut b = GraphBuilder::new("chain");
/// let x = b.input("x", &[1, 64, 64, 4])?;
/// let sine = b.unary("sine", Unary::Sin, x)?;
/// let cosine = b.unary("cosine", Unary::Cos, sine)?;
/// let tangent = b.unary("tangent", Unary::Tan, cosine)?;
/// let graph = b.finish(&[tangent])?;
/// let run = |text: &str| {
///     let stripes: Stripes = text.parse().unwrap();
///     compile(&graph, &CompileOptions { stripes, ..CompileOptions::default() }, &SearchControl::new())
/// };
///
/// // Two maps of four rows each instead of two whole ones.
/// let compiled = run("16")?;
/// assert_eq!((compiled.schedule().steps.len(), compiled.plan().bytes()), (3 * 16, 2 * 4 * 64 * 16));
/// // The sine runs in two stripes, and the others run whole.
/// assert_eq!(run("sine=2")?.schedule().steps.len(), 2 + 1 + 1);
/// let error = run("sina=2").unwrap_err();
/// assert!(matches!(error, CompileError::Stripes(StripesError::UnknownLayer { .. })));
/// assert_eq!(error.to_string(), "no operator that runs computes `sina`; did you mean `sine`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stripes {
    /// A search chooses them, as the objective and the tiling allow.
    #[default]
    Searched,
    /// Every operator runs in this many stripes, or in one for each row if it has fewer rows.
    Every(NonZeroU32),
    /// The operators that compute these tensors run in this many stripes, and all others run whole. The tensors are those
    /// of the [rewritten graph](crate::CompiledModel::graph). Parts of a tensor named here are never written in place.
    Named(BTreeMap<String, NonZeroU32>),
}

impl std::str::FromStr for Stripes {
    type Err = String;

    /// Parses a number, or names with numbers such as `conv1=4,conv2=2`. A name may contain `=` and commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse().map_err(|_| format!("`{text}` is no number of stripes; write a whole number from 1 on"))
        };
        if !text.contains('=') {
            return number(text).map(Self::Every);
        }
        let mut named = BTreeMap::new();
        let mut name = String::new();
        for part in text.split(',') {
            let Some((end, stripes)) = part.rsplit_once('=') else {
                // A comma within a name.
                name += part;
                name.push(',');
                continue;
            };
            name += end;
            if named.insert(std::mem::take(&mut name), number(stripes)?).is_some() {
                return Err(format!("`{text}` sets the stripes of an operator twice"));
            }
        }
        match name.is_empty() {
            true => Ok(Self::Named(named)),
            false => Err(format!("`{}` has no number of stripes; write NAME=NUMBER", name.trim_end_matches(','))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stripes;
    use std::num::NonZeroU32;

    #[test]
    fn a_text_sets_all_numbers_or_those_of_names() {
        let number = |number| NonZeroU32::new(number).unwrap();
        assert_eq!("8".parse(), Ok(Stripes::Every(number(8))));
        let named = |names: &[(&str, u32)]| {
            Ok(Stripes::Named(names.iter().map(|&(name, stripes)| (name.to_owned(), number(stripes))).collect()))
        };
        assert_eq!("a=2".parse(), named(&[("a", 2)]));
        assert_eq!("a,b=2,c=d=3".parse(), named(&[("a,b", 2), ("c=d", 3)]));
        for wrong in ["", "0", "-1", "x", "a=", "a=0", "a=2,", "a=2,b", "a=2,a=3", "4294967296"] {
            assert!(wrong.parse::<Stripes>().is_err(), "{wrong}");
        }
    }
}
