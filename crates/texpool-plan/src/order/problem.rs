//! The input: operations with the tensors that they touch, and the operations that must run before them.

use crate::{
    bounds::{max_breadth, naive_total},
    error::{InputError, PlanError},
    record::UsageRecord,
    uses::StepUse,
};

/// A tensor whose life depends on the order of the operations. It lives from the first operation that touches it to
/// the last, unless it is there from the start or needed to the end.
///
/// ```
/// use texpool_plan::OrderTensor;
///
/// let image = OrderTensor::new(600).from_start();
/// let scores = OrderTensor::new(40).to_end();
/// assert!(image.alive_from_start && scores.alive_to_end);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OrderTensor {
    /// Size in the caller's unit, such as bytes or texels.
    pub size: u64,
    /// True if it takes memory from the first operation on, such as an input that the caller writes beforehand.
    pub alive_from_start: bool,
    /// True if it takes memory until the last operation, such as an output that the caller reads afterwards.
    pub alive_to_end: bool,
}

impl OrderTensor {
    /// Creates a tensor that lives from its first use to its last.
    pub const fn new(size: u64) -> Self {
        Self { size, alive_from_start: false, alive_to_end: false }
    }

    /// Lets it take memory from the first operation on.
    #[must_use]
    pub const fn from_start(mut self) -> Self {
        self.alive_from_start = true;
        self
    }

    /// Lets it take memory until the last operation.
    #[must_use]
    pub const fn to_end(mut self) -> Self {
        self.alive_to_end = true;
        self
    }
}

/// Operations to put in order, in an order that is allowed: the *file's order*.
///
/// ```
/// use texpool_plan::{OrderProblem, OrderTensor, StepUse};
///
/// // Two branches from the same tensor, each with a large result that shrinks.
/// let uses = |reads: &[usize], write: usize| StepUse { reads: reads.to_vec(), writes: vec![write] };
/// let operations =
///     vec![uses(&[0], 1), uses(&[0], 2), uses(&[1], 3), uses(&[2], 4), uses(&[3, 4], 5)];
/// let tensors = [1, 8, 8, 1, 1, 1].map(OrderTensor::new).to_vec();
/// let problem = OrderProblem::new(operations, tensors)?;
/// // In the file's order both large tensors are alive at once; one branch after the other needs less.
/// assert_eq!((problem.peak(&[0, 1, 2, 3, 4])?, problem.peak(&[0, 2, 1, 3, 4])?), (17, 10));
/// // No operation may run before the one that writes its operand.
/// assert!(problem.peak(&[2, 0, 1, 3, 4]).is_err());
/// assert_eq!((problem.is_empty(), problem.dependencies(4)), (false, &[2, 3][..]));
///
/// // The caller may state further dependencies, here that the first branch begins first.
/// let operations = problem.uses(&[0, 1, 2, 3, 4])?;
/// let tensors = [1, 8, 8, 1, 1, 1].map(OrderTensor::new).to_vec();
/// let after = vec![vec![], vec![0], vec![0], vec![1], vec![2, 3]];
/// let problem = OrderProblem::with_dependencies(operations, tensors, after)?;
/// assert!(problem.peak(&[1, 0, 3, 2, 4]).is_err());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderProblem {
    operations: Vec<StepUse>,
    tensors: Vec<OrderTensor>,
    /// For each operation, the earlier ones that must run before it, in increasing order.
    after: Vec<Vec<usize>>,
    /// For each operation, the tensors that it reads or writes, in increasing order.
    touched: Vec<Vec<usize>>,
}

impl OrderProblem {
    /// Creates a problem in which an operation that reads a tensor follows those that write it earlier in the list,
    /// and one that writes a tensor follows those that read it earlier. Two that write parts of the same tensor may
    /// run in any order.
    ///
    /// # Errors
    /// [`PlanError::Input`] if an operation uses a tensor that does not exist, if no operation uses a tensor, or if
    /// the sizes add up to more than 64 bits.
    pub fn new(operations: Vec<StepUse>, tensors: Vec<OrderTensor>) -> Result<Self, PlanError> {
        check_tensors(&operations, &tensors)?;
        let after = dependencies(&operations, tensors.len());
        Self::with_dependencies(operations, tensors, after)
    }

    /// Creates a problem with the given dependencies: for each operation, those that must run before it. They come
    /// earlier in the list.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and [`PlanError::Input`] if a dependency does not come earlier, or if the
    /// lists have different lengths.
    pub fn with_dependencies(
        operations: Vec<StepUse>,
        tensors: Vec<OrderTensor>,
        mut after: Vec<Vec<usize>>,
    ) -> Result<Self, PlanError> {
        check_tensors(&operations, &tensors)?;
        let (expected, found) = (operations.len(), after.len());
        if expected != found {
            return Err(InputError::LengthMismatch { what: "dependencies", expected, found }.into());
        }
        for (operation, earlier) in after.iter_mut().enumerate() {
            earlier.sort_unstable();
            earlier.dedup();
            if let Some(&dependency) = earlier.iter().find(|&&other| other >= operation) {
                return Err(InputError::LateDependency { operation, dependency }.into());
            }
        }
        let touched = operations.iter().map(touched).collect();
        Ok(Self { operations, tensors, after, touched })
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the operations that must run before `operation`, apart from what they depend on themselves; none if it
    /// does not exist.
    pub fn dependencies(&self, operation: usize) -> &[usize] {
        self.after.get(operation).map_or(&[], Vec::as_slice)
    }

    /// Returns the usage records of the tensors if the operations run in `order`.
    ///
    /// # Errors
    /// [`PlanError::Input`] if `order` does not contain each operation once, after those that it depends on.
    pub fn records(&self, order: &[usize]) -> Result<Vec<UsageRecord>, PlanError> {
        self.check_order(order)?;
        Ok(self.records_of(order))
    }

    /// Returns the largest sum of the sizes of tensors that are alive at once if the operations run in `order`.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn peak(&self, order: &[usize]) -> Result<u64, PlanError> {
        Ok(max_breadth(&self.records(order)?))
    }

    /// Returns the tensors that each step reads and writes if the operations run in `order`.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn uses(&self, order: &[usize]) -> Result<Vec<StepUse>, PlanError> {
        self.check_order(order)?;
        Ok(order.iter().map(|&operation| self.operations[operation].clone()).collect())
    }

    /// Returns the records for an order that is known to be allowed.
    pub(super) fn records_of(&self, order: &[usize]) -> Vec<UsageRecord> {
        let end = order.len().saturating_sub(1);
        let mut records: Vec<UsageRecord> = self.tensors.iter().map(|t| UsageRecord::new(end, 0, t.size)).collect();
        for (step, &operation) in order.iter().enumerate() {
            for &tensor in &self.touched[operation] {
                let record = &mut records[tensor];
                (record.first, record.last) = (record.first.min(step), record.last.max(step));
            }
        }
        for (record, tensor) in records.iter_mut().zip(&self.tensors) {
            record.first = if tensor.alive_from_start { 0 } else { record.first };
            record.last = if tensor.alive_to_end { end } else { record.last };
        }
        records
    }

    pub(super) fn tensors(&self) -> &[OrderTensor] {
        &self.tensors
    }

    pub(super) fn after(&self) -> &[Vec<usize>] {
        &self.after
    }

    pub(super) fn touched(&self) -> &[Vec<usize>] {
        &self.touched
    }

    fn check_order(&self, order: &[usize]) -> Result<(), PlanError> {
        let (expected, found) = (self.len(), order.len());
        if expected != found {
            return Err(InputError::LengthMismatch { what: "the order", expected, found }.into());
        }
        let mut done = vec![false; self.len()];
        for &operation in order {
            let earlier = self.after.get(operation).filter(|_| !done[operation]);
            let earlier = earlier.ok_or(InputError::NotAnOrder { operation })?;
            if let Some(&dependency) = earlier.iter().find(|&&other| !done[other]) {
                return Err(InputError::LateDependency { operation, dependency }.into());
            }
            done[operation] = true;
        }
        Ok(())
    }
}

/// Checks that tensors exist and are used, and that their sum fits into 64 bits.
fn check_tensors(operations: &[StepUse], tensors: &[OrderTensor]) -> Result<(), PlanError> {
    let mut used = vec![false; tensors.len()];
    for (operation, uses) in operations.iter().enumerate() {
        for &tensor in uses.reads.iter().chain(&uses.writes) {
            *used.get_mut(tensor).ok_or(InputError::UnknownTensor { operation, tensor })? = true;
        }
    }
    if let Some(tensor) = used.iter().position(|used| !used) {
        return Err(InputError::UnusedTensor { tensor }.into());
    }
    let sizes: Vec<UsageRecord> = tensors.iter().map(|tensor| UsageRecord::new(0, 0, tensor.size)).collect();
    naive_total(&sizes).map(drop)
}

/// Derives dependencies from reads and writes.
fn dependencies(operations: &[StepUse], tensors: usize) -> Vec<Vec<usize>> {
    let (mut writers, mut readers) = (vec![Vec::new(); tensors], vec![Vec::new(); tensors]);
    let mut after = Vec::with_capacity(operations.len());
    for (operation, uses) in operations.iter().enumerate() {
        let written = uses.reads.iter().flat_map(|&tensor: &usize| writers[tensor].iter());
        let read = uses.writes.iter().flat_map(|&tensor: &usize| readers[tensor].iter());
        after.push(written.chain(read).copied().collect());
        uses.writes.iter().for_each(|&tensor| writers[tensor].push(operation));
        uses.reads.iter().for_each(|&tensor| readers[tensor].push(operation));
    }
    after
}

fn touched(uses: &StepUse) -> Vec<usize> {
    let mut touched: Vec<usize> = uses.reads.iter().chain(&uses.writes).copied().collect();
    touched.sort_unstable();
    touched.dedup();
    touched
}
