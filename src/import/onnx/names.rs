//! The names of a file, and what they stand for at the node that is being lowered.

use std::collections::{HashMap, HashSet};

use super::{
    array::ranked,
    graph_lowering::GraphLowering,
    model::{Graph, Node, Tensor},
    tensor::ValueSource,
    value::Value,
};
use crate::import::{
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
};

/// What a name takes in all the tables that it stands in, beside its bytes.
const NAME_BYTES: usize = 256;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entry {
    /// An index into the file's initializers, not yet read.
    Initializer(usize),
    Value(Value),
    /// An initializer that cannot be read.
    Bad(Problem),
    /// A result of a node that was refused, or not looked at.
    Missing,
}

/// An operand of a node.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// Left out.
    Absent,
    Value(Value),
    /// A result of a node that was refused.
    Missing,
}

impl Operand {
    /// `None` for a missing one.
    pub(super) fn into_value(self) -> Option<Option<Value>> {
        match self {
            Self::Absent => Some(None),
            Self::Value(value) => Some(Some(value)),
            Self::Missing => None,
        }
    }
}

/// The names of a file.
#[derive(Debug)]
pub(super) struct Names<'m> {
    initializers: &'m [Tensor],
    entries: HashMap<&'m str, Entry>,
    /// Results that a later node of the file computes.
    later: HashSet<&'m str>,
    read: HashSet<&'m str>,
}

impl<'m> Names<'m> {
    /// The names of a graph, which must differ where they stand for different things.
    pub(super) fn new(file: &'m Graph, meter: &mut Meter) -> Result<Self, ImportError> {
        let results = file.nodes.iter().map(|node| node.outputs.len() + node.inputs.len());
        let names = results.sum::<usize>() + file.initializers.len() + file.inputs.len() + file.outputs.len();
        if let Err(excess) = meter.memory(names.saturating_mul(NAME_BYTES)) {
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
        let outputs = file.outputs.iter().map(|port| port.name.as_str());
        let read = file.nodes.iter().flat_map(|node| &node.inputs).map(String::as_str).chain(outputs).collect();
        Ok(Self { initializers: &file.initializers, entries, later, read })
    }

    /// Whether the file gives the name a value of its own.
    pub(super) fn is_initializer(&self, name: &str) -> bool {
        // Files up to IR version 3 list initializers among the inputs.
        matches!(self.entries.get(name), Some(Entry::Initializer(_)))
    }

    /// Whether a node or an output reads it.
    pub(super) fn is_read(&self, name: &str) -> bool {
        !name.is_empty() && self.read.contains(name)
    }

    /// Gives an input its value.
    pub(super) fn define(&mut self, name: &'m str, value: Value) {
        self.entries.insert(name, Entry::Value(value));
    }

    /// Notes why a name has no value that can be read.
    pub(super) fn spoil(&mut self, name: &'m str, problem: Problem) {
        self.entries.insert(name, Entry::Bad(problem));
    }

    /// The first operand of a node that nothing is known of, because a node before it is refused.
    pub(super) fn missing<'n>(&self, node: &'n Node) -> Option<&'n str> {
        let missing = |name: &&String| matches!(self.entries.get(name.as_str()), Some(Entry::Missing));
        node.inputs.iter().find(missing).map(String::as_str)
    }

    /// What a name stands for, where that has been looked at.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        match self.entries.get(name) {
            Some(Entry::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// Notes that a node is next: its results must be new names.
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

    /// The operands of a node.
    pub(super) fn operands(
        &mut self,
        node: &Node,
        values: &mut ValueSource,
        meter: &mut Meter,
    ) -> Result<Vec<Operand>, Problem> {
        node.inputs.iter().map(|name| self.operand(name, values, meter)).collect()
    }

    fn operand(&mut self, name: &str, values: &mut ValueSource, meter: &mut Meter) -> Result<Operand, Problem> {
        if name.is_empty() {
            return Ok(Operand::Absent);
        }
        let initializers = self.initializers;
        let Some(entry) = self.entries.get_mut(name) else {
            return Err(Problem::malformed(match self.later.contains(name) {
                true => format!("its operand `{name}` is computed after it (nodes out of order, or a cycle)"),
                false => format!("its operand `{name}` is computed by no node"),
            }));
        };
        if let Entry::Initializer(index) = *entry {
            // Kept, so that a thousand nodes that share a constant do not read it a thousand times.
            *entry = match values.array(&initializers[index], meter) {
                Ok(array) => Entry::Value(Value::Known(array)),
                Err(problem) => Entry::Bad(problem.of_constant(name)),
            };
        }
        match entry {
            Entry::Value(value) => Ok(Operand::Value(value.clone())),
            Entry::Bad(problem) => Err(problem.clone()),
            Entry::Missing | Entry::Initializer(_) => Ok(Operand::Missing),
        }
    }

    /// The value of a graph output.
    pub(super) fn output(&mut self, name: &str, values: &mut ValueSource, meter: &mut Meter) -> Result<Value, Problem> {
        match self.operand(name, values, meter)?.into_value().flatten() {
            Some(value) => Ok(value),
            None => Err(Problem::malformed("it has no value")),
        }
    }

    /// States the results of a node; tensors from `before` on are called after them.
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
                    // A tensor that was there before (of a reshape, an identity) keeps the name that its node gave it.
                    if let Value::Computed(computed) = &value
                        && computed.tensor.index() >= before
                    {
                        lowering.graph.tensors[computed.tensor].name = label(name);
                    }
                    self.entries.insert(name, Entry::Value(value));
                }
                None if !self.is_read(name) => {}
                None => return Err(Problem::unsupported(format!("its result `{name}` is not supported"))),
            }
        }
        Ok(())
    }
}
