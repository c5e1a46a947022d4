//! Context for lowering one node: its operands, attributes and results.

use std::fmt;

use super::{
    array::{Array, MAX_RANK, count},
    graph_lowering::GraphLowering,
    layout::AtomLayout,
    model::{Attribute, Body, Graph, MAX_DEPTH, Node},
    passed::Passed,
    tensor::ValueSource,
    value::{BoundedAxis, Computed, Sizes, Value},
};
use crate::import::{
    common::axes::{axis, sorted_axes},
    error::Problem,
    meter::Meter,
};
use texpool_ops::graph::{ElementType, Op, Shape, TensorId};

/// Results of a body. One is `None` if it depends on a node that was refused.
pub(super) type BodyResults = Vec<Option<Value>>;

/// Lowers bodies of a node.
pub(super) trait Bodies: fmt::Debug {
    /// Adds the graph nodes of a body that is given these operands, and returns its results, and those of their extents
    /// that a run gives or finds.
    fn lower(
        &mut self,
        body: &Graph,
        operands: &[Value],
        lowering: &mut GraphLowering,
        values: &mut ValueSource,
    ) -> Result<(BodyResults, Passed), Problem>;
}

/// A node that is being lowered.
#[derive(Debug)]
pub(in crate::import) struct NodeLowering<'c> {
    pub(super) lowering: &'c mut GraphLowering,
    pub(super) node: &'c Node,
    /// Attributes by name, with the values of those that refer to a call's.
    pub(super) attributes: &'c [(&'c str, &'c Attribute)],
    /// Version of the operator set for the node's domain.
    pub(super) opset: i64,
    pub(super) operands: Vec<Option<Value>>,
    /// Axes of the operands whose extents a run gives or finds.
    pub(super) bounds: Vec<Vec<BoundedAxis>>,
    /// Elements of known operands that are such extents.
    pub(super) sizes: Vec<Sizes>,
    /// Axis of the results whose extent is found in a run.
    pub(super) bound: Option<BoundedAxis>,
    /// Extents of the results of the node's bodies that a run gives or finds, for each body with some.
    pub(super) of_bodies: Vec<Passed>,
    /// True if the node is in a body or function.
    pub(super) is_nested: bool,
    /// False if the node is in a function, or in a body that may run several times.
    pub(super) keeps_extents: bool,
    pub(super) results: Vec<Option<Value>>,
    /// True for results that are read by a node or output.
    pub(super) read: Vec<bool>,
    pub(super) values: &'c mut ValueSource,
    pub(super) bodies: &'c mut dyn Bodies,
    /// True if the node cannot be examined, because its bodies depend on the results of refused nodes.
    pub(super) is_open: bool,
}

impl<'c> NodeLowering<'c> {
    /// Number of operands, without missing ones at the end.
    pub(super) fn count(&self) -> usize {
        self.operands.len()
    }

    /// Returns an operand, or `None` if it is missing.
    pub(super) fn optional(&self, position: usize) -> Option<Value> {
        self.operands.get(position).cloned().flatten()
    }

    /// Allowances of the import.
    pub(super) fn meter(&mut self) -> &mut Meter {
        &mut self.lowering.meter
    }

    /// Returns the number of elements of an array that is about to be created, and charges `bytes` and `steps` per
    /// element.
    pub(super) fn budget_for(&mut self, dims: &[usize], bytes: usize, steps: usize) -> Result<usize, Problem> {
        let elements = count(dims)?;
        self.lowering.meter.memory(elements.saturating_mul(bytes))?;
        self.lowering.meter.work(elements.saturating_mul(steps))?;
        Ok(elements)
    }

    /// Charges the cost of writing out operands that repeat one value. Needed for functions that read every element.
    pub(super) fn write_out(&mut self) -> Result<(), Problem> {
        for array in self.operands.iter().flatten().filter_map(Value::known) {
            if array.repeated().is_some() {
                self.lowering.meter.memory(array.bytes().saturating_mul(2))?;
                self.lowering.meter.work(array.len())?;
            }
        }
        Ok(())
    }

    /// Returns an operand, or an error if it is missing.
    pub(super) fn operand(&self, position: usize) -> Result<Value, Problem> {
        self.optional(position).ok_or_else(|| Problem::malformed(format!("it has no operand {position}")))
    }

    /// Returns an operand as a tensor of the graph. A known one is placed in the file's order.
    pub(super) fn computed(&mut self, position: usize) -> Result<Computed, Problem> {
        let value = self.operand(position)?;
        self.compute(&value)
    }

    /// Returns a value as a tensor of the graph. A known one is placed in the file's order.
    pub(super) fn compute(&mut self, value: &Value) -> Result<Computed, Problem> {
        match value {
            Value::Computed(computed) => Ok(computed.clone()),
            Value::Known(array) => {
                let layout = AtomLayout::natural(array.dims());
                let constant = self.lowering.place(value, &layout)?;
                let tensor = self.lowering.stored(constant)?;
                Ok(Computed { tensor, dims: array.dims().to_vec(), layout, elem: array.element_type() })
            }
        }
    }

    /// Returns the values of an operand that must be known at import.
    pub(super) fn known(&self, position: usize, role: &str) -> Result<Array, Problem> {
        match self.operand(position)? {
            Value::Known(array) => Ok(array),
            Value::Computed(value) => {
                let name = self.node.inputs.get(position).filter(|name| !name.is_empty());
                let called = name.map_or_else(String::new, |name| format!(" `{name}`"));
                let reason = format!("operand {position}{called}, its {role}, is computed at run time");
                let is_number = value.elem.is_integer() && value.dims.iter().all(|&extent| extent == 1);
                if let Some(name) = name.filter(|_| is_number && !self.is_nested && is_extent(&self.node.op, position))
                {
                    let hint = "make it part of the model, bind the inputs that it is computed from to values, or bind it to \
                                the most that it can be";
                    return Err(Problem::new(reason, hint).sized_by(name).explained_by_sources(value.tensor));
                }
                let hint = "make it part of the model, or bind the inputs that it is computed from to values";
                Err(Problem::new(reason, hint).explained_by_sources(value.tensor))
            }
        }
    }

    /// Returns the integers of an operand that must be known.
    pub(super) fn integers(&self, position: usize, role: &str) -> Result<Vec<i64>, Problem> {
        let array = self.known(position, role)?;
        self.few(array.len(), role)?;
        let integers = array.to_i64().map(<[i64]>::to_vec);
        integers.ok_or_else(|| Problem::malformed(format!("operand {position}, its {role}, has no integers")))
    }

    /// Returns the only integer of an operand that must be known.
    pub(super) fn integer(&self, position: usize, role: &str) -> Result<i64, Problem> {
        match self.integers(position, role)?[..] {
            [integer] => Ok(integer),
            ref other => Err(Problem::malformed(format!("its {role} is {other:?}"))),
        }
    }

    /// Refuses a list that is longer than any meaningful list with an entry per axis or per result. A thousand nodes
    /// may share a list of a million numbers.
    pub(super) fn few(&self, numbers: usize, role: &str) -> Result<(), Problem> {
        if numbers <= self.results.len().max(2 * MAX_RANK) {
            return Ok(());
        }
        Err(Problem::limit(format!("its {role} are {numbers} numbers, arrays have at most {MAX_RANK} axes")))
    }

    /// Returns the number in an operand that must be known, or `None` if it is missing.
    pub(super) fn scalar(&self, position: usize, role: &str) -> Result<Option<f32>, Problem> {
        if self.optional(position).is_none() {
            return Ok(None);
        }
        let array = self.known(position, role)?;
        match array.len() {
            1 => Ok(array.to_f32().first().copied()),
            _ => Err(Problem::malformed(format!("operand {position}, its {role}, is no single number"))),
        }
    }

    fn attribute(&self, name: &str) -> Option<&'c Attribute> {
        self.attributes.iter().find(|(own, _)| *own == name).map(|(_, attribute)| *attribute)
    }

    /// Returns whether an attribute exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    /// Returns an integer attribute.
    pub(super) fn int(&self, name: &str) -> Result<Option<i64>, Problem> {
        self.of(name, "an integer", |a| a.int)
    }

    /// Returns an integer attribute that is a count.
    pub(super) fn size(&self, name: &str, default: usize) -> Result<usize, Problem> {
        match self.int(name)? {
            None => Ok(default),
            Some(value) => match usize::try_from(value) {
                Ok(size) if size <= MAX_NUMBER => Ok(size),
                Ok(size) => Err(Problem::limit(format!("its {name} is {size}, at most {MAX_NUMBER} are supported"))),
                Err(_) => Err(Problem::malformed(format!("its {name} is {value}"))),
            },
        }
    }

    /// Returns an attribute as a flag: true unless zero.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        Ok(self.int(name)?.map_or(default, |i| i != 0))
    }

    /// Returns the element type whose number an attribute has. Floats of other widths become 32-bit ones where that is
    /// allowed.
    pub(super) fn stated_type(&mut self, name: &str) -> Result<Option<ElementType>, Problem> {
        self.int(name)?.map(|code| self.values.element_type(code)).transpose()
    }

    /// Returns a float attribute.
    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, Problem> {
        Ok(self.of(name, "a float", |a| a.float)?.unwrap_or(default))
    }

    /// Returns a text attribute.
    pub(super) fn text(&self, name: &str, default: &str) -> Result<String, Problem> {
        Ok(self.of(name, "a text", |a| a.text.clone())?.unwrap_or_else(|| default.to_owned()))
    }

    /// Returns a tensor attribute.
    pub(super) fn tensor(&mut self, name: &str) -> Result<Option<Array>, Problem> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let tensor = attribute.tensor.as_deref();
        let tensor = tensor.ok_or_else(|| Problem::malformed(format!("its {name} is not a tensor")))?;
        self.values.array(tensor, &mut self.lowering.meter).map(Some)
    }

    /// Lowers the body in an attribute, and returns its results. A result is `None` if it depends on a node that was
    /// refused.
    pub(super) fn body(&mut self, name: &str, operands: &[Value]) -> Result<Vec<Option<Value>>, Problem> {
        let node = self.node;
        let results = match self.attribute(name).map(|attribute| attribute.bodies.as_slice()).unwrap_or_default() {
            [Body { graph: Some(graph), .. }] => {
                let label = self.lowering.label.clone();
                let results = self.bodies.lower(graph, operands, self.lowering, self.values);
                self.lowering.label = label;
                results.map(|(results, passed)| {
                    if !passed.is_empty() {
                        self.of_bodies.push(passed);
                    }
                    results
                })
            }
            [_] => Err(Problem::new(
                format!("it is nested more than {MAX_DEPTH} deep"),
                "export the model with fewer conditions and loops within one another",
            )),
            _ => Err(Problem::malformed("the node has no such body")),
        };
        results.map_err(|problem| problem.of_branch(name, &node.operator()))
    }

    /// Returns a list of integers.
    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|a| a.ints.clone())
    }

    /// Returns a list of texts; empty if it is missing.
    pub(super) fn texts(&self, name: &str) -> &[String] {
        self.attribute(name).map_or(&[], |a| a.texts.as_slice())
    }

    /// Returns a list of floats.
    pub(super) fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.attribute(name).map(|a| a.floats.clone())
    }

    fn of<T>(&self, name: &str, what: &str, get: impl Fn(&Attribute) -> Option<T>) -> Result<Option<T>, Problem> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let value = get(attribute).ok_or_else(|| Problem::malformed(format!("its {name} is not {what}")))?;
        Ok(Some(value))
    }

    /// Returns a list of integers from an attribute, or from the operand that replaced it in newer operator sets.
    pub(super) fn list(&self, name: &str, position: usize) -> Result<Option<Vec<i64>>, Problem> {
        if let Some(attribute) = self.attribute(name) {
            self.few(attribute.ints.len(), name)?;
            return Ok(Some(attribute.ints.clone()));
        }
        match self.optional(position) {
            Some(_) => self.integers(position, name).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the axis given by the attribute `axis`.
    pub(super) fn axis(&self, rank: usize, default: i64) -> Result<usize, Problem> {
        axis(self.int("axis")?.unwrap_or(default), rank)
    }

    /// Returns the axes of a reduction, or `None` if it reduces nothing.
    pub(super) fn reduced_axes(&self, rank: usize) -> Result<Option<Vec<usize>>, Problem> {
        // An empty list means the same as a missing one.
        let named = self.list("axes", 1)?.filter(|list| !list.is_empty());
        match named {
            Some(named) => sorted_axes(&named, rank).map(Some),
            None if self.flag("noop_with_empty_axes", false)? => Ok(None),
            None => Ok(Some((0..rank).collect())),
        }
    }

    /// Adds a node to the graph.
    pub(super) fn emit(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        self.lowering.emit(op, inputs, shape)
    }

    /// Sets a result.
    pub(super) fn give(&mut self, position: usize, value: Value) {
        if let Some(result) = self.results.get_mut(position) {
            *result = Some(value);
        }
    }

    /// Sets the first result, whose extent along an axis is found in a run.
    pub(super) fn give_bounded(&mut self, value: Value, bound: BoundedAxis) {
        self.give(0, value);
        self.bound = Some(bound);
    }

    /// Sets the first result to a tensor with extents in the file's order.
    pub(super) fn answer(&mut self, tensor: TensorId, dims: Vec<usize>, layout: AtomLayout, elem: ElementType) {
        self.give(0, Value::Computed(Computed { tensor, layout: layout.tidy(&dims), dims, elem }));
    }

    /// Returns whether a result is read by a node or output.
    pub(super) fn wants(&self, position: usize) -> bool {
        self.read.get(position).copied().unwrap_or(false)
    }
}

/// Operands that hold extents of the result, by operator. A run may give or find these extents.
const EXTENTS: [(&str, usize); 7] =
    [("ConstantOfShape", 0), ("Expand", 1), ("Range", 1), ("Reshape", 1), ("Resize", 3), ("Slice", 2), ("TopK", 1)];

/// Returns whether the result of an operator has the numbers of an operand as extents.
pub(super) fn is_extent(op: &str, position: usize) -> bool {
    EXTENTS.contains(&(op, position))
}

/// Largest number for an attribute. Sums of a few of them cannot overflow.
const MAX_NUMBER: usize = 1 << 31;
