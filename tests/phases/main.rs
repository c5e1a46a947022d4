//! Phases: what operators need row by row, the order that follows, where rows lie, and that not one bit changes.

#[cfg(test)]
mod networks;
#[cfg(test)]
mod sizes;
