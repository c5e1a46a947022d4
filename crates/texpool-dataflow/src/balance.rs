//! Consistency: computes the number of cycles of each actor that returns every channel to its initial state.

use std::collections::VecDeque;

use super::{Channel, Csdf, DataflowError};

/// Returns the repetition vector: the smallest whole number of cycles per actor such that each channel receives as
/// many tokens as it delivers. Parts of the graph that no channel connects are balanced separately.
///
/// # Errors
/// Those of [`Csdf::check`]; [`DataflowError::Unbalanced`] with a channel that no cycle counts can balance;
/// [`DataflowError::Overflow`].
pub fn repetition(csdf: &Csdf) -> Result<Vec<u64>, DataflowError> {
    csdf.check()?;
    let mut touching = vec![Vec::new(); csdf.actors.len()];
    for (index, channel) in csdf.channels.iter().enumerate() {
        touching[channel.from].push(index);
        touching[channel.to].push(index);
    }
    let mut cycles: Vec<Option<Ratio>> = vec![None; csdf.actors.len()];
    let mut whole = vec![0; csdf.actors.len()];
    // An actor that has no value yet begins another connected part of the graph.
    for first in 0..csdf.actors.len() {
        if cycles[first].is_some() {
            continue;
        }
        // Any value works here, since `scale` reduces the ratios to the smallest whole numbers.
        cycles[first] = Some(Ratio { numerator: 1, denominator: 1 });
        let (mut part, mut next) = (Vec::new(), VecDeque::from([first]));
        while let Some(actor) = next.pop_front() {
            part.push(actor);
            for channel in touching[actor].iter().map(|&index| &csdf.channels[index]) {
                if let Some(other) = propagate(csdf, channel, actor, &mut cycles)? {
                    next.push_back(other);
                }
            }
        }
        scale(csdf, &part, &cycles, &mut whole)?;
    }
    Ok(whole)
}

/// A positive fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    fn scaled(self, numerator: u128, denominator: u128) -> Option<Self> {
        // Cancels common factors before multiplying, so that an overflow means that the ratio itself is too large.
        let common = gcd(numerator, denominator);
        let (numerator, denominator) = (numerator / common, denominator / common);
        let (a, b) = (gcd(self.numerator, denominator), gcd(numerator, self.denominator));
        let numerator = (self.numerator / a).checked_mul(numerator / b)?;
        Some(Self { numerator, denominator: (self.denominator / b).checked_mul(denominator / a)? })
    }
}

/// Propagates an actor's cycles over a channel to its other end. Returns that end if it had no value before.
fn propagate(
    csdf: &Csdf,
    channel: &Channel,
    actor: usize,
    cycles: &mut [Option<Ratio>],
) -> Result<Option<usize>, DataflowError> {
    let (produced, consumed) = (channel.production.sum(), channel.consumption.sum());
    let overflow = || DataflowError::Overflow { channel: channel.name.clone() };
    let Some(actor_cycles) = cycles[actor] else { return Ok(None) };
    // A channel that moves no tokens does not relate its two ends.
    if produced == 0 && consumed == 0 {
        return Ok(None);
    }
    let (other, sent, received) =
        if channel.from == actor { (channel.to, produced, consumed) } else { (channel.from, consumed, produced) };
    let unbalanced = |other_cycles: Ratio| {
        let (from, to) =
            if channel.from == actor { (actor_cycles, other_cycles) } else { (other_cycles, actor_cycles) };
        // Uses a common denominator, so that the error can report whole numbers of tokens.
        let (from_cycles, to_cycles) =
            from.numerator.checked_mul(to.denominator).zip(to.numerator.checked_mul(from.denominator))?;
        Some(DataflowError::Unbalanced {
            channel: channel.name.clone(),
            from: csdf.actors[channel.from].name.clone(),
            to: csdf.actors[channel.to].name.clone(),
            produced: from_cycles.checked_mul(produced)?,
            consumed: to_cycles.checked_mul(consumed)?,
        })
    };
    // If only one end moves tokens, they pile up or run out, whatever the cycles.
    if sent == 0 || received == 0 {
        return Err(
            unbalanced(cycles[other].unwrap_or(Ratio { numerator: 1, denominator: 1 })).unwrap_or_else(overflow)
        );
    }
    let expected = actor_cycles.scaled(sent, received).ok_or_else(overflow)?;
    match cycles[other] {
        None => {
            cycles[other] = Some(expected);
            Ok(Some(other))
        }
        Some(other_cycles) if other_cycles == expected => Ok(None),
        Some(other_cycles) => Err(unbalanced(other_cycles).unwrap_or_else(overflow)),
    }
}

/// Scales the ratios of a connected part to the smallest whole numbers.
fn scale(csdf: &Csdf, part: &[usize], cycles: &[Option<Ratio>], whole: &mut [u64]) -> Result<(), DataflowError> {
    // The overflow has no single channel as its cause, so the error names any channel of this part.
    let overflow = || {
        let near = |channel: &&Channel| part.contains(&channel.from);
        let channel = csdf.channels.iter().find(near).map_or_else(String::new, |channel| channel.name.clone());
        DataflowError::Overflow { channel }
    };
    let ratios = || part.iter().filter_map(|&actor| cycles[actor].map(|ratio| (actor, ratio)));
    let mut common: u128 = 1;
    for (_, ratio) in ratios() {
        common = (common / gcd(common, ratio.denominator)).checked_mul(ratio.denominator).ok_or_else(overflow)?;
    }
    let mut least = 0;
    let mut scaled = Vec::with_capacity(part.len());
    for (actor, ratio) in ratios() {
        let cycles = ratio.numerator.checked_mul(common / ratio.denominator).ok_or_else(overflow)?;
        least = gcd(cycles, least);
        scaled.push((actor, cycles));
    }
    for (actor, cycles) in scaled {
        whole[actor] = u64::try_from(cycles / least.max(1)).map_err(|_| overflow())?;
    }
    Ok(())
}

pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
