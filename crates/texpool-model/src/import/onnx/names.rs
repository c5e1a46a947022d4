//! Maps the names of a file to their values, as of the node that is being lowered.

use std::collections::{HashMap, HashSet};

use super::{
    array::{Array, ranked},
    bodies,
    graph_lowering::GraphLowering,
    layout::AtomLayout,
    model::{Graph, Node, Tensor},
    passed::Passed,
    tensor::ValueSource,
    value::{BoundedAxis, Computed, MOST_PLACES, Size, Sizes, Value},
};
use crate::import::{
    ExtentBound,
    error::{ImportError, Problem},
    meter::Meter,
};
use texpool_ops::graph::ElementType;

/// Memory that the tables need per name, in addition to its bytes.
const NAME_BYTES: usize = 256;

/// State of a name.
#[derive(Clone, Debug)]
enum Entry {
    /// Index into the file's initializers; not read yet.
    Initializer(usize),
    Value(Value),
    /// A value of the enclosing graph, which holds it.
    Captured(Value),
    /// A value that cannot be read.
    Bad(Problem),
    /// An operand of a function that its call leaves out.
    Absent,
    /// A value that no later node reads and that is no output, so its elements are no longer held.
    Spent {
        dims: Vec<usize>,
        elem: ElementType,
    },
    /// The result of a node that was refused or not examined.
    Missing,
}

/// What is known about a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'v> {
    pub(super) dims: &'v [usize],
    pub(super) elem: ElementType,
    /// True if the value follows from the file alone.
    pub(super) is_known: bool,
}

/// An operand of a node.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// Left out.
    Absent,
    Value(Value),
    /// The result of a node that was refused.
    Missing,
}

impl Operand {
    /// Returns `None` if the operand is missing.
    pub(super) fn into_value(self) -> Option<Option<Value>> {
        match self {
            Self::Absent => Some(None),
            Self::Value(value) => Some(Some(value)),
            Self::Missing => None,
        }
    }
}

/// Returns the names that a node reads, also those that its branches read.
fn reads(node: &Node) -> impl Iterator<Item = &str> {
    node.inputs.iter().map(String::as_str).chain(bodies::captured(node))
}

/// Steps of work for a body, and for each of its nodes and for each value that it reads from outside. A microsecond, in
/// which the tables of its names are built.
const BODY_STEPS: usize = 1_000;

/// Attributes an error of a body's names to the node that has the body.
fn of_inner(error: ImportError) -> Problem {
    match error {
        ImportError::TooMuch(too_much) => Problem::from(too_much.excess),
        error => Problem::malformed(error.to_string()),
    }
}

/// Table of the names of a graph.
#[derive(Debug)]
pub(super) struct Names<'m> {
    initializers: &'m [Tensor],
    entries: HashMap<&'m str, Entry>,
    /// Results of nodes that come later in the file.
    later: HashSet<&'m str>,
    /// Number of later operands and outputs that read a name. Names that nothing reads have no entry.
    readers: HashMap<&'m str, usize>,
    /// Axes whose extents a run gives or finds, without those that have none.
    bounds: HashMap<&'m str, Vec<BoundedAxis>>,
    /// Known values that hold such extents.
    sizes: HashMap<&'m str, Sizes>,
    /// Results that are extents, and the most that the caller allows for each.
    limits: HashMap<&'m str, usize>,
    /// Memory that the tables take, in bytes.
    bytes: usize,
}

impl<'m> Names<'m> {
    /// Collects the names of a graph. Fails if two initializers or two inputs have the same name.
    pub(super) fn new(file: &'m Graph, meter: &mut Meter) -> Result<Self, ImportError> {
        Self::with_outputs(file, |_| true, meter)
    }

    /// Collects the names of a graph. Only outputs for whose position `is_read` holds count as reading a name.
    fn with_outputs(file: &'m Graph, is_read: impl Fn(usize) -> bool, meter: &mut Meter) -> Result<Self, ImportError> {
        let results = file.nodes.iter().map(|node| node.outputs.len() + node.inputs.len());
        let names = results.sum::<usize>() + file.initializers.len() + file.inputs.len() + file.outputs.len();
        let bytes = names.saturating_mul(NAME_BYTES);
        // Work, too, because a body or function may be entered any number of times.
        if let Err(excess) = meter.memory(bytes).and_then(|()| meter.work(bytes)) {
            Problem::from(excess).within(None, "", "")?;
        }
        let mut entries: HashMap<&str, Entry> = HashMap::new();
        for (i, tensor) in file.initializers.iter().enumerate() {
            if entries.insert(&tensor.name, Entry::Initializer(i)).is_some() {
                return Err(ImportError::Duplicate { what: "initializer", name: tensor.name.clone() });
            }
        }
        for name in &file.sparse {
            let problem =
                Problem::new(format!("`{name}` is a sparse constant"), "export the model with dense constants");
            if entries.insert(name, Entry::Bad(problem)).is_some() {
                return Err(ImportError::Duplicate { what: "initializer", name: name.clone() });
            }
        }
        let mut inputs = HashSet::new();
        if let Some(port) = file.inputs.iter().find(|port| !inputs.insert(port.name.as_str())) {
            return Err(ImportError::Duplicate { what: "input", name: port.name.clone() });
        }
        let later = file.nodes.iter().flat_map(|node| &node.outputs).map(String::as_str).collect();
        let outputs = file.outputs.iter().enumerate().filter(|(position, _)| is_read(*position));
        let outputs = outputs.map(|(_, port)| port.name.as_str());
        let mut readers = HashMap::new();
        for name in file.nodes.iter().flat_map(reads).chain(outputs) {
            *readers.entry(name).or_default() += 1;
        }
        Ok(Self {
            initializers: &file.initializers,
            entries,
            later,
            readers,
            bounds: HashMap::new(),
            sizes: HashMap::new(),
            limits: HashMap::new(),
            bytes,
        })
    }

    /// Collects the names of a body, its operands, and the values that it reads from the enclosing graph. Its own names
    /// hide equal names of that graph.
    pub(super) fn of_body(
        body: &'m Graph,
        operands: &[Value],
        outer: &mut Names<'_>,
        values: &mut ValueSource,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        let mut captured: Vec<&str> = bodies::captured_by(body).into_iter().collect();
        // Sorted, because the order of a set is not deterministic, and the first value that is too large is reported.
        captured.sort_unstable();
        // A loop may lower a body any number of times, even one without nodes. Collecting the captured names visits the
        // nodes of nested bodies, too.
        meter.work(BODY_STEPS.saturating_mul(1 + captured.len() + operands.len() + bodies::size(body)))?;
        let (expected, count) = (body.inputs.len(), operands.len());
        if expected != count {
            return Err(Problem::malformed(format!("its body has {expected} inputs, and is given {count}")));
        }
        let mut names = Self::new(body, meter).map_err(of_inner)?;
        let bytes = captured.len().saturating_mul(NAME_BYTES);
        meter.memory(bytes)?;
        names.bytes = names.bytes.saturating_add(bytes);
        for name in captured {
            let entry = match outer.operand(name, values, meter) {
                Ok(Operand::Value(value)) => Entry::Captured(value),
                Ok(Operand::Absent | Operand::Missing) => Entry::Missing,
                Err(problem) if problem.excess.is_some() => return Err(problem),
                // Reported for the nodes that read it.
                Err(problem) => Entry::Bad(problem),
            };
            names.entries.insert(name, entry);
            if let Some(bounds) = outer.bounds.get(name) {
                names.bounds.insert(name, bounds.clone());
            }
            if let Some(sizes) = outer.sizes.get(name) {
                names.sizes.insert(name, sizes.clone());
            }
        }
        for (port, value) in body.inputs.iter().zip(operands) {
            names.entries.insert(&port.name, Entry::Captured(value.clone()));
        }
        Ok(names)
    }

    /// Collects the names of a function's body, and its operands. Only results for which `read` holds are computed for
    /// the call.
    pub(super) fn of_function(
        body: &'m Graph,
        operands: Vec<Option<Value>>,
        read: &[bool],
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        for (what, count, stated) in
            [("operands", operands.len(), body.inputs.len()), ("results", read.len(), body.outputs.len())]
        {
            if count > stated {
                return Err(Problem::malformed(format!("it has {count} {what}, and its function {stated}")));
            }
        }
        meter.work(BODY_STEPS.saturating_mul(1 + bodies::size(body)))?;
        let is_read = |position: usize| read.get(position).copied().unwrap_or(false);
        let mut names = Self::with_outputs(body, is_read, meter).map_err(of_inner)?;
        let operands = operands.into_iter().chain(std::iter::repeat(None));
        for (port, operand) in body.inputs.iter().zip(operands) {
            names.entries.insert(&port.name, operand.map_or(Entry::Absent, Entry::Captured));
        }
        Ok(names)
    }

    /// Ends a body: gives back the memory of its tables, and of known values that only its names hold.
    pub(super) fn end(self, meter: &mut Meter) {
        let value_bytes = self.entries.into_values().map(|entry| match entry {
            Entry::Value(Value::Known(array)) => array.freed(),
            _ => 0,
        });
        meter.free(self.bytes.saturating_add(value_bytes.sum()));
    }

    /// Returns whether the file contains a value for the name.
    pub(super) fn is_initializer(&self, name: &str) -> bool {
        // Up to IR version 3, files also list initializers as inputs.
        matches!(self.entries.get(name), Some(Entry::Initializer(_)))
    }

    /// Returns whether a node or an output reads the name.
    pub(super) fn is_read(&self, name: &str) -> bool {
        !name.is_empty() && self.readers.contains_key(name)
    }

    /// Defines the value of a name.
    pub(super) fn define(&mut self, name: &'m str, value: Value) {
        self.entries.insert(name, Entry::Value(value));
    }

    /// Replaces a known value by a tensor that holds it.
    pub(super) fn replace(&mut self, name: &str, tensor: Value, meter: &mut Meter) {
        if let Some(Entry::Value(value)) = self.entries.get_mut(name) {
            if let Value::Known(array) = value {
                meter.free(array.freed());
            }
            *value = tensor;
        }
    }

    /// Returns the axes of a name's value whose extents a run gives or finds.
    pub(super) fn bounds(&self, name: &str) -> &[BoundedAxis] {
        self.bounds.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the elements of a name's value that are such extents.
    pub(super) fn sizes(&self, name: &str) -> &[Option<Size>] {
        self.sizes.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Records the axis of a name's value whose extent a run gives.
    pub(super) fn bind(&mut self, name: &str, bound: BoundedAxis) {
        if let Some((&name, _)) = self.entries.get_key_value(name) {
            self.bounds.entry(name).or_default().push(bound);
        }
    }

    /// Returns whether a name is the result of a node that comes later in the file.
    pub(super) fn is_result(&self, name: &str) -> bool {
        self.later.contains(name)
    }

    /// Records that a result, or an input that is defined already, is an extent, and the most that it can be.
    pub(super) fn limit(&mut self, name: &str, bound: ExtentBound) -> Result<(), ImportError> {
        let ExtentBound { most, step } = bound;
        if !(1..=MOST_PLACES).contains(&most) || step != 1 {
            let why = format!("an extent that a run computes is at least 1 and at most {MOST_PLACES}, without a step");
            return Err(ImportError::CannotBind { name: name.to_owned(), asked: most, why });
        }
        let input = self.entries.get_key_value(name).map(|(name, _)| *name);
        if let Some(name) = self.later.get(name).copied().or(input) {
            self.limits.insert(name, most);
        }
        Ok(())
    }

    /// Makes a result or input with a limit a known number, which is an extent of a run.
    pub(super) fn apply_limit(&mut self, name: &'m str, lowering: &mut GraphLowering) -> Result<(), Problem> {
        let (Some(&most), Some(Entry::Value(value))) = (self.limits.get(name), self.entries.get(name)) else {
            return Ok(());
        };
        let (dims, elem) = (value.dims().to_vec(), value.element_type());
        let number = match value {
            Value::Computed(number) if value.len() == 1 && elem.is_integer() => number.tensor,
            Value::Computed(_) => {
                let reason = format!("`{name}`, {elem} of {dims:?}, is no extent, which is a single integer");
                return Err(Problem::new(reason, "bound the integer that it is computed from, or no extent"));
            }
            Value::Known(_) => {
                let reason = format!("`{name}` is a known number, and the caller bounds it as an extent");
                return Err(Problem::new(reason, "do not bound it"));
            }
        };
        let count =
            Computed { tensor: number, dims: vec![1], layout: AtomLayout::natural(&[1]), elem: ElementType::I64 };
        let array = Array::of_ints(dims, elem, vec![most as i64]);
        lowering.meter.memory(array.freed())?;
        lowering.open.limits.push((lowering.named(name), number, most));
        self.sizes.insert(name, vec![Some(Size { count, least: 0, bound: most })]);
        self.entries.insert(name, Entry::Value(Value::Known(array)));
        Ok(())
    }

    /// Returns the first name that the bodies of a node read whose extents, or elements, a run gives or finds.
    pub(super) fn bounded_in_bodies<'n>(&self, node: &'n Node) -> Option<&'n str> {
        if self.bounds.is_empty() {
            return None;
        }
        let is_bounded = |name: &&str| self.bounds.contains_key(name) || self.sizes.contains_key(name);
        bodies::captured(node).into_iter().filter(is_bounded).min()
    }

    /// Records the axes of a node's results whose extents a run gives or finds, and known results that hold such extents.
    /// Fails if a result has no such axis.
    pub(super) fn set_bounds(&mut self, node: &'m Node, passed: Passed) -> Result<(), Problem> {
        for (position, name) in node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let Some(facts) = self.facts(name) else { continue };
            let bounds = passed.bounds_of(position);
            let is_one = |bound: &BoundedAxis| facts.dims.get(bound.axis) == Some(&bound.size.bound);
            let is_number = self.sizes.contains_key(name.as_str());
            if !bounds.iter().all(is_one) || (is_number && !bounds.is_empty()) {
                let reason = format!("the extent of its result `{name}` depends on one that is found in a run");
                return Err(Problem::unsupported(reason));
            }
            if !bounds.is_empty() {
                self.bounds.insert(name, bounds.to_vec());
            }
        }
        for (name, sizes) in node.outputs.iter().zip(passed.sizes) {
            if sizes.iter().any(Option::is_some) {
                self.sizes.insert(name, sizes);
            }
        }
        Ok(())
    }

    /// Records the reason for which the value of a name cannot be read.
    pub(super) fn spoil(&mut self, name: &'m str, problem: Problem) {
        self.entries.insert(name, Entry::Bad(problem));
    }

    /// Returns the first operand of a node that is missing because an earlier node was refused.
    pub(super) fn missing<'n>(&self, node: &'n Node) -> Option<&'n str> {
        let missing = |name: &&String| matches!(self.entries.get(name.as_str()), Some(Entry::Missing));
        node.inputs.iter().find(missing).map(String::as_str)
    }

    /// Returns the first name that the branches of a node read and that is missing.
    pub(super) fn missing_in_branches<'n>(&self, node: &'n Node) -> Option<&'n str> {
        let missing = |name: &&str| matches!(self.entries.get(name), Some(Entry::Missing));
        bodies::captured(node).into_iter().filter(missing).min()
    }

    /// Returns the facts about the value of a name, if it has been read or computed.
    pub(super) fn facts(&self, name: &str) -> Option<Facts<'_>> {
        match self.entries.get(name)? {
            Entry::Value(value) | Entry::Captured(value) => {
                let is_known = value.known().is_some();
                Some(Facts { dims: value.dims(), elem: value.element_type(), is_known })
            }
            Entry::Spent { dims, elem } => Some(Facts { dims, elem: *elem, is_known: true }),
            Entry::Initializer(_) | Entry::Bad(_) | Entry::Absent | Entry::Missing => None,
        }
    }

    /// Ends a node: lets go of the known values that it was the last to read.
    pub(super) fn leave(&mut self, node: &Node, meter: &mut Meter) {
        for name in reads(node) {
            let Some(unread @ 1..) = self.readers.get_mut(name) else { continue };
            *unread -= 1;
            if *unread == 0
                && let Some(entry) = self.entries.get_mut(name)
                && let Entry::Value(Value::Known(array)) = entry
            {
                meter.free(array.freed());
                *entry = Entry::Spent { dims: array.dims().to_vec(), elem: array.element_type() };
            }
        }
    }

    /// Begins a node. Fails if one of its results already has a value.
    pub(super) fn claim(&mut self, node: &'m Node) -> Result<(), Problem> {
        let mut twice = None;
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            self.later.remove(name.as_str());
            if self.entries.contains_key(name.as_str()) {
                twice = Some(name);
            } else {
                self.entries.insert(name, Entry::Missing);
            }
        }
        match twice {
            Some(name) => Err(Problem::malformed(format!("its result `{name}` has a value already"))),
            None => Ok(()),
        }
    }

    /// Returns the operands of a node.
    pub(super) fn operands(
        &mut self,
        node: &Node,
        values: &mut ValueSource,
        meter: &mut Meter,
    ) -> Result<Vec<Operand>, Problem> {
        node.inputs.iter().map(|name| self.operand(name, values, meter)).collect()
    }

    /// Returns the value of a name.
    pub(super) fn operand(
        &mut self,
        name: &str,
        values: &mut ValueSource,
        meter: &mut Meter,
    ) -> Result<Operand, Problem> {
        if name.is_empty() {
            return Ok(Operand::Absent);
        }
        let initializers = self.initializers;
        let Some(entry) = self.entries.get_mut(name) else {
            return Err(Problem::malformed(match self.later.contains(name) {
                true => format!("its operand `{name}` follows from its own result: the nodes form a cycle"),
                false => format!("its operand `{name}` is computed by no node"),
            }));
        };
        if let Entry::Initializer(index) = *entry {
            // Stored, so that many nodes that share a constant read it only once.
            *entry = match values.array(&initializers[index], meter) {
                Ok(array) => Entry::Value(Value::Known(array)),
                Err(problem) => Entry::Bad(problem.of_constant(name)),
            };
        }
        match entry {
            Entry::Value(value) | Entry::Captured(value) => Ok(Operand::Value(value.clone())),
            Entry::Bad(problem) => Err(problem.clone()),
            Entry::Absent => Ok(Operand::Absent),
            Entry::Missing | Entry::Initializer(_) | Entry::Spent { .. } => Ok(Operand::Missing),
        }
    }

    /// Returns the value of a graph output.
    pub(super) fn output(&mut self, name: &str, values: &mut ValueSource, meter: &mut Meter) -> Result<Value, Problem> {
        match self.operand(name, values, meter)?.into_value().flatten() {
            Some(value) => Ok(value),
            None => Err(Problem::malformed("it has no value")),
        }
    }

    /// Defines the results of a node. Tensors with ids from `before` on get the names of the results.
    pub(super) fn state(
        &mut self,
        node: &'m Node,
        results: Vec<Option<Value>>,
        before: usize,
        lowering: &mut GraphLowering,
    ) -> Result<(), Problem> {
        for (name, result) in node.outputs.iter().zip(results) {
            match result {
                Some(value) => {
                    ranked(value.dims().len())?;
                    // Older tensors (for example the operand of an identity) keep the name that their own node gave
                    // them.
                    if let Value::Computed(computed) = &value
                        && computed.tensor.index() >= before
                    {
                        lowering.graph.tensors[computed.tensor].name = lowering.named(name);
                    }
                    self.entries.insert(name, Entry::Value(value));
                    self.apply_limit(name, lowering)?;
                }
                None if !self.is_read(name) => {}
                None => return Err(Problem::unsupported(format!("its result `{name}` is not supported"))),
            }
        }
        Ok(())
    }
}
