//! The operators that nodes name: those of the table, and functions that the file defines.
//!
//! A call of a function is lowered like a node with a body, once for each call, with names and operator sets of its
//! own. Attributes that refer to those of the call are looked up there, so nothing of a function is copied.

use std::collections::{HashMap, HashSet};

use super::{
    lower,
    model::{Attribute, Function, MAX_DEPTH, Model, Node, own_domain},
    op_registry::OnnxOpEntry,
    opsets::{NEWEST, OLDEST, Opsets},
};
use crate::import::error::{ImportError, Problem};

/// Everything that a file says about operators.
#[derive(Debug)]
pub(super) struct Definitions<'m> {
    main: Opsets<'m>,
    /// By [`key`].
    functions: HashMap<String, Definition<'m>>,
}

/// A function of the file.
#[derive(Debug)]
pub(super) struct Definition<'m> {
    function: &'m Function,
    opsets: Opsets<'m>,
}

/// Returns whether the main graph has nodes, and none of ONNX's own domain.
fn has_no_own(model: &Model) -> bool {
    let nodes = model.graph.as_ref().map_or(&[][..], |graph| &graph.nodes);
    !nodes.is_empty() && nodes.iter().all(|node| !own_domain(&node.domain).is_empty())
}

/// Returns a text that no other function has.
fn key(domain: &str, name: &str, overload: &str) -> String {
    let domain = own_domain(domain);
    format!("{} {} {domain}{name}{overload}", domain.len(), name.len())
}

/// The definition of a node's operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator<'p> {
    Entry(&'static OnnxOpEntry),
    Function(&'p Definition<'p>),
}

impl<'m> Definitions<'m> {
    /// Fails if two functions are alike, or if the operator set is not supported.
    pub(super) fn new(model: &'m Model) -> Result<Self, ImportError> {
        let mut functions = HashMap::new();
        for function in &model.functions {
            let opsets = Opsets::new(&function.opsets)?;
            let key = key(&function.domain, &function.name, &function.overload);
            if functions.insert(key, Definition { function, opsets }).is_some() {
                return Err(ImportError::Duplicate { what: "function", name: function.operator() });
            }
        }
        let main = Opsets::new(&model.opsets)?;
        match main.version("") {
            // All nodes of the main graph may be calls, or operators of other domains.
            0 if !functions.is_empty() || has_no_own(model) => {}
            version if !main.is_supported() => {
                return Err(ImportError::Opset { version, oldest: OLDEST, newest: NEWEST });
            }
            _ => {}
        }
        Ok(Self { main, functions })
    }

    /// Returns the place of the main graph's node with this index.
    pub(super) fn node(&self, index: usize) -> Place<'_> {
        Place { index, definitions: self, opsets: &self.main, call: None, depth: 0, keeps_extents: true }
    }
}

/// The graph or function that contains a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// Index of the node of the main graph that is the node, or that contains it.
    pub(super) index: usize,
    definitions: &'p Definitions<'p>,
    opsets: &'p Opsets<'p>,
    /// The innermost call that contains the node.
    call: Option<&'p Call<'p>>,
    /// Number of bodies and calls that contain the node.
    depth: usize,
    /// False within functions and within bodies that run several times, whose results have the same extents in each run.
    keeps_extents: bool,
}

/// A call of a function.
#[derive(Debug)]
pub(super) struct Call<'p> {
    definition: &'p Definition<'p>,
    /// Values of the function's attributes.
    attributes: HashMap<&'p str, &'p Attribute>,
    /// Place of the node that calls it.
    from: Place<'p>,
}

/// Domain of the operators that ONNX Runtime writes into models that it optimised for the processor it ran on.
const OF_BLOCKS: &str = "com.microsoft.nchwc";

impl<'p> Place<'p> {
    /// Returns the version of a domain's operator set.
    pub(super) fn version(&self, domain: &str) -> i64 {
        self.opsets.version(domain)
    }

    /// Finds the operator of a node.
    pub(super) fn find(&self, node: &Node) -> Result<Operator<'p>, Problem> {
        if let Some(entry) = lower::find(&node.domain, &node.op) {
            let is_supported = !entry.domain.is_empty() || self.opsets.is_supported();
            return if is_supported { Ok(Operator::Entry(entry)) } else { Err(self.opsets.unsupported()) };
        }
        let key = key(&node.domain, &node.op, &node.overload);
        if let Some(definition) = self.definitions.functions.get(&key) {
            return Ok(Operator::Function(definition));
        }
        if node.attributes.iter().any(|attribute| !attribute.bodies.is_empty()) {
            return Err(Problem::unsupported("control flow is not supported"));
        }
        if node.domain == OF_BLOCKS {
            let reason = "the operator is for channels in blocks, a layout that ONNX Runtime chose for one processor";
            return Err(Problem::new(
                reason,
                "save the optimised model again at `ORT_ENABLE_EXTENDED` or a lower level",
            ));
        }
        Err(Problem::unsupported("the operator is not supported"))
    }

    /// Returns the attributes of a node by name. Those that refer to attributes of a call have the values there, and
    /// are left out if the call has none.
    pub(super) fn attributes<'a>(&'a self, node: &'a Node) -> Result<Vec<(&'a str, &'a Attribute)>, Problem> {
        let (mut stated, mut attributes) = (HashSet::new(), Vec::new());
        for attribute in &node.attributes {
            let name = attribute.name.as_str();
            if !stated.insert(name) {
                return Err(Problem::malformed(format!("it states its {name} twice")));
            }
            attributes.extend(self.resolved(attribute)?.map(|value| (name, value)));
        }
        Ok(attributes)
    }

    fn resolved<'a>(&'a self, attribute: &'a Attribute) -> Result<Option<&'a Attribute>, Problem> {
        let Attribute { name, reference, .. } = attribute;
        if reference.is_empty() {
            return Ok(Some(attribute));
        }
        let Some(call) = self.call else {
            let reason = format!("its {name} refers to the attribute `{reference}` of a function, and it is in none");
            return Err(Problem::malformed(reason));
        };
        match call.attributes.get(reference.as_str()) {
            Some(value) if !value.bodies.is_empty() => Err(Problem::new(
                format!("its {name} is a graph that function `{}` is given", call.definition.function.operator()),
                "export the model with functions inlined",
            )),
            value => Ok(value.copied()),
        }
    }

    /// Returns whether the node is in a body or function.
    pub(super) const fn is_nested(&self) -> bool {
        self.depth > 0
    }

    /// Returns whether the results may have extents that a run finds.
    pub(super) const fn keeps_extents(&self) -> bool {
        self.keeps_extents
    }

    /// Returns the place of nodes in a body of a node, or in a function. A branch runs once and takes no operands.
    pub(super) fn within(&self, is_branch: bool) -> Result<Self, Problem> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH {
            return Err(Problem::new(
                format!("functions and bodies are nested more than {MAX_DEPTH} deep"),
                "export the model with functions inlined, and with fewer conditions and loops within one another",
            ));
        }
        Ok(Self { depth, keeps_extents: self.keeps_extents && is_branch, ..*self })
    }

    /// Begins a call with these attributes. Fails if the function is being called already.
    pub(super) fn call<'a>(
        &'a self,
        definition: &'a Definition<'a>,
        attributes: &[(&'a str, &'a Attribute)],
    ) -> Result<Call<'a>, Problem> {
        let mut chain = vec![definition.function.operator()];
        let mut outer = self.call;
        while let Some(call) = outer {
            chain.push(call.definition.function.operator());
            if std::ptr::eq(call.definition.function, definition.function) {
                chain.reverse();
                return Err(Problem::malformed(format!("the function calls itself: {}", chain.join(" calls "))));
            }
            outer = call.from.call;
        }
        let defaults = definition.function.defaults.iter().map(|attribute| (attribute.name.as_str(), attribute));
        let attributes = defaults.chain(attributes.iter().copied()).collect();
        Ok(Call { definition, attributes, from: self.within(false)? })
    }
}

impl Call<'_> {
    /// The function that is called.
    pub(super) fn function(&self) -> &Function {
        self.definition.function
    }

    /// Returns the place of the function's nodes.
    pub(super) fn place(&self) -> Place<'_> {
        Place { opsets: &self.definition.opsets, call: Some(self), ..self.from }
    }
}
