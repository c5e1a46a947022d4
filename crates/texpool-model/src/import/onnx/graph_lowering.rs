//! Builds the graph: adds nodes and constants, and converts tensors between layouts.

use std::collections::HashMap;

use super::{
    array::{Array, Identity},
    layout::{AtomLayout, AtomPlaces, shape, spread},
    open_extents::OpenExtents,
    value::{Computed, Value},
};
use crate::import::{
    FakeQuant,
    common::graph::{NODE_BYTES, deciding_inputs, inferred, push_node, push_tensor, source_names, stem},
    error::Problem,
    label::label,
    meter::Meter,
};
use texpool_ops::graph::{Concat, Epilogue, Graph, MAX_ELEMENTS, Op, Shape, TensorId, Transpose};

/// The graph that is being built.
#[derive(Debug)]
pub(super) struct GraphLowering {
    pub(super) graph: Graph,
    /// Index of the file's node that is being lowered.
    pub(super) op_index: usize,
    /// Prefix for the names of new tensors.
    pub(super) label: String,
    /// Prefix for names of nodes and results: those of the calls that contain them, each with a slash.
    pub(super) path: String,
    /// Allowances of the import.
    pub(super) meter: Meter,
    /// Rounding of quantised values.
    pub(super) fake_quant: FakeQuant,
    /// Conversions that already exist, for reuse.
    brought: HashMap<(TensorId, AtomLayout, AtomPlaces), TensorId>,
    /// Values that were repeated to larger extents, by the tensor of the result.
    repeated: HashMap<TensorId, Repeated>,
    /// Tensors that are made for extents of a run, for reuse.
    pub(super) open: OpenExtents,
    /// What the iterations of a loop share; `None` outside loops.
    shared: Option<Shared>,
}

/// Constants that the iterations of a loop share, so that a loop takes as much memory as its body.
#[derive(Debug, Default)]
pub(super) struct Shared {
    constants: HashMap<(Identity, Shape), TensorId>,
    /// By the array, its extents, and the order of its axes.
    transposed: HashMap<(Identity, Vec<usize>, Vec<usize>), Transposed>,
}

/// A transposed array, and the array that it was made of. Holding the latter keeps its identity from being reused.
#[derive(Debug)]
struct Transposed {
    result: Array,
    _of: Array,
}

/// A value that was repeated along axes of extent one.
#[derive(Debug)]
struct Repeated {
    from: Computed,
    to: Computed,
}

impl GraphLowering {
    pub(super) fn new(meter: Meter) -> Self {
        let graph = Graph::default();
        let fake_quant = FakeQuant::default();
        let (brought, repeated) = (HashMap::new(), HashMap::new());
        let (label, path) = (String::new(), String::new());
        let open = OpenExtents::default();
        Self { graph, op_index: 0, label, path, meter, fake_quant, brought, repeated, open, shared: None }
    }

    /// Begins a node of the file. `name` becomes the prefix for the names of new tensors.
    pub(super) fn begin(&mut self, op_index: usize, name: &str) {
        self.op_index = op_index;
        self.label = if self.path.is_empty() { stem(name) } else { stem(&self.named(name)) };
    }

    /// Returns the name of a result in the graph.
    pub(super) fn named(&self, name: &str) -> String {
        if self.path.is_empty() { label(name) } else { label(&format!("{}{name}", self.path)) }
    }

    /// Begins a call of a function by a node called `name`. Returns the path before, which the caller sets again.
    pub(super) fn enter(&mut self, name: &str) -> String {
        let path = format!("{}/", self.named(name));
        std::mem::replace(&mut self.path, path)
    }

    /// Adds a node, and returns its result, a tensor of `shape`.
    pub(super) fn emit(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        // Shapes of the graph have other axes than the file's tensors, so that reasons do not state them.
        let inferred = inferred(&self.graph, &op, inputs, shape).map_err(Problem::explained_by_operands)?;
        if inferred != shape {
            return Err(Problem::malformed("its operands do not fit one another").explained_by_operands());
        }
        let name = format!("{} / {}", self.label, op.name());
        let output = self.tensor(name, shape, None)?;
        push_node(&mut self.graph, op, inputs, Epilogue::default(), output, self.op_index);
        Ok(output)
    }

    fn tensor(
        &mut self,
        name: String,
        shape: Shape,
        constant: Option<texpool_ops::graph::Constant>,
    ) -> Result<TensorId, Problem> {
        self.meter.memory(NODE_BYTES)?;
        // Checked first, because the product of the extents below may overflow.
        if shape.dims().contains(&0) {
            return Err(Problem::empty("a tensor would have no elements").explained_by_operands());
        }
        if shape.checked_len().is_none_or(|n| n > MAX_ELEMENTS) {
            let elements = shape.dims().iter().fold(1u128, |n, &extent| n.saturating_mul(extent as u128));
            let reason =
                format!("a tensor of {elements} elements is too large: at most {MAX_ELEMENTS} elements are supported");
            return Err(Problem::limit(reason).explained_by_operands());
        }
        Ok(push_tensor(&mut self.graph, name, shape, constant))
    }

    /// Adds an input tensor.
    pub(super) fn input(&mut self, name: &str, shape: Shape) -> Result<TensorId, Problem> {
        self.tensor(label(name), shape, None)
    }

    /// Begins a loop, or ends it if `shared` is `None`.
    pub(super) fn share(&mut self, shared: Option<Shared>) {
        self.shared = shared;
    }

    /// Returns whether the lowered nodes belong to a loop.
    pub(super) const fn is_in_loop(&self) -> bool {
        self.shared.is_some()
    }

    /// Transposes an array. The iterations of a loop share the result.
    pub(super) fn transposed(&mut self, array: &Array, perm: &[usize]) -> Result<Array, Problem> {
        let Some((shared, identity)) = self.shared.as_mut().zip(array.identity()) else {
            return array.transposed(perm, &mut self.meter);
        };
        let key = (identity, array.dims().to_vec(), perm.to_vec());
        if let Some(transposed) = shared.transposed.get(&key) {
            return Ok(transposed.result.clone());
        }
        let result = array.transposed(perm, &mut self.meter)?;
        shared.transposed.insert(key, Transposed { result: result.clone(), _of: array.clone() });
        Ok(result)
    }

    /// Adds a constant tensor of `shape` with the elements of `array` in order. The iterations of a loop share it.
    pub(super) fn constant(&mut self, array: &Array, shape: Shape) -> Result<TensorId, Problem> {
        let key = array.identity().filter(|_| self.is_in_loop()).map(|identity| (identity, shape));
        if let Some(tensor) = self.shared.as_ref().zip(key).and_then(|(shared, key)| shared.constants.get(&key)) {
            return Ok(*tensor);
        }
        let tensor = self.new_constant(array, shape)?;
        if let (Some(shared), Some(key)) = (&mut self.shared, key) {
            shared.constants.insert(key, tensor);
        }
        Ok(tensor)
    }

    fn new_constant(&mut self, array: &Array, shape: Shape) -> Result<TensorId, Problem> {
        // Repeated values take no memory until they are read, so they have a separate allowance.
        if array.repeated().is_some() {
            self.meter.repeat(array.len())?;
        } else if !array.element_type().is_float() {
            self.meter.work(array.len())?;
        }
        self.meter.memory(array.constant_bytes())?;
        if let Some(lost) = array.first_inexact() {
            return Err(Problem::unsupported(format!("its constant holds {lost}, which 32-bit floats do not")));
        }
        let name = format!("{} / constant", self.label);
        let tensor = self.tensor(name, shape, Some(array.to_constant()))?;
        self.graph.tensors[tensor].element_type = array.element_type();
        Ok(tensor)
    }

    /// Copies a constant to a tensor that is computed by a node. For operators that cannot read constants, and for
    /// outputs.
    pub(super) fn stored(&mut self, constant: TensorId) -> Result<TensorId, Problem> {
        let shape = self.graph.shape(constant);
        // Concatenations can read constants, so one with a single operand is a copy.
        self.emit(Op::Concat(Concat { axis: 3 }), &[constant], shape)
    }

    /// Adds a reshape, unless the tensor has the shape already.
    pub(super) fn reshape(&mut self, id: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        if self.graph.shape(id) == shape {
            return Ok(id);
        }
        self.emit(Op::Reshape, &[id], shape)
    }

    /// Returns a tensor with a value in layout `layout`. Both layouts must have the same atoms.
    pub(super) fn place(&mut self, value: &Value, layout: &AtomLayout) -> Result<TensorId, Problem> {
        match value {
            Value::Known(array) => {
                let by_atom = array.reshaped(&layout.atoms)?;
                let transposed = self.transposed(&by_atom, &layout.sequence())?;
                self.constant(&transposed, layout.shape())
            }
            Value::Computed(computed) => self.bring(computed, layout),
        }
    }

    /// Remembers that `to` is `from`, repeated along axes of extent one. Both have the same number of axes.
    pub(super) fn note_repeated(&mut self, from: Computed, to: Computed) {
        if from.tensor != to.tensor {
            self.repeated.insert(to.tensor, Repeated { from, to });
        }
    }

    /// Returns the value that was repeated to give this one. `None` if its axes were rearranged since.
    pub(super) fn before_repeating(&self, value: &Value) -> Option<&Computed> {
        let Value::Computed(value) = value else { return None };
        let Repeated { from, to } = self.repeated.get(&value.tensor)?;
        (value.dims == to.dims && value.layout == to.layout).then_some(from)
    }

    /// Converts a tensor to another layout with the same atoms: returns the tensor itself, or adds reshapes and
    /// transposes.
    pub(super) fn bring(&mut self, x: &Computed, to: &AtomLayout) -> Result<TensorId, Problem> {
        if x.layout == *to {
            return Ok(x.tensor);
        }
        if x.layout.atoms != to.atoms {
            let reason = format!("its operand of {:?} cannot be brought into the order that is needed", x.dims);
            return Err(Problem::unsupported(reason));
        }
        let key = (x.tensor, x.layout.clone(), to.places.clone());
        if let Some(&tensor) = self.brought.get(&key) {
            return Ok(tensor);
        }
        let tensor = self.turn(x.tensor, &x.layout, &to.places)?;
        self.brought.insert(key, tensor);
        Ok(tensor)
    }

    fn turn(&mut self, tensor: TensorId, from: &AtomLayout, to: &AtomPlaces) -> Result<TensorId, Problem> {
        let atoms = &from.atoms;
        let (mut tensor, mut places) = (tensor, from.places.clone());
        loop {
            let (from_order, to_order) = (places.concat(), to.concat());
            if from_order == to_order {
                return self.reshape(tensor, shape(atoms, to));
            }
            if let Some(perm) = direct(&places, to) {
                return self.transpose(tensor, perm);
            }
            let segments = segments(&from_order, &to_order);
            if segments.len() <= 4 {
                let mut in_from_order = segments.clone();
                in_from_order.sort_by_key(|segment| from_order.iter().position(|a| *a == segment[0]));
                let start = spread(atoms, &in_from_order, &places);
                let end = spread(atoms, &segments, to);
                let (Some(start), Some(end)) = (start, end) else {
                    return Err(Problem::unsupported("it turns more than four axes"));
                };
                tensor = self.reshape(tensor, shape(atoms, &start))?;
                let Some(perm) = direct(&start, &end) else {
                    return Err(Problem::unsupported("it turns axes that do not match"));
                };
                tensor = self.transpose(tensor, perm)?;
                return self.reshape(tensor, shape(atoms, to));
            }
            // More than four segments would have to move. Moves the first misplaced one to its place. Each iteration
            // puts one more segment into its place, so the loop ends.
            let done = from_order.iter().zip(&to_order).take_while(|(a, b)| a == b).count();
            let Some(next) = segments.iter().find(|segment| segment[0] == to_order[done]) else {
                return Err(Problem::unsupported("it turns axes that do not match"));
            };
            let at = from_order.iter().position(|a| *a == next[0]).unwrap_or(done);
            let end = at + next.len();
            let parts = [&from_order[..done], &from_order[done..at], &from_order[at..end], &from_order[end..]]
                .map(<[usize]>::to_vec);
            tensor = self.reshape(tensor, shape(atoms, &parts))?;
            tensor = self.transpose(tensor, [0, 2, 1, 3])?;
            let [a, b, c, d] = parts;
            places = [a, c, b, d];
        }
    }

    /// Returns the names of the given tensors that a tensor is computed from, for a message.
    pub(super) fn source_names(&mut self, tensor: TensorId) -> Result<String, Problem> {
        Ok(source_names(&self.graph, &mut self.meter, tensor)?)
    }

    /// Returns the names of the inputs that a tensor is computed from, if a caller can bind all of them to a number.
    pub(super) fn deciding_inputs(&mut self, tensor: TensorId) -> Result<Vec<String>, Problem> {
        Ok(deciding_inputs(&self.graph, &mut self.meter, tensor)?)
    }

    /// Adds a transpose.
    fn transpose(&mut self, tensor: TensorId, perm: [usize; 4]) -> Result<TensorId, Problem> {
        let extents = self.graph.shape(tensor).dims();
        self.emit(Op::Transpose(Transpose { perm }), &[tensor], perm.map(|axis| extents[axis]).into())
    }
}

/// Returns the permutation of physical axes that turns `from` into `to`, if only whole axes are exchanged.
fn direct(from: &AtomPlaces, to: &AtomPlaces) -> Option<[usize; 4]> {
    let mut perm = [None; 4];
    for (source, list) in perm.iter_mut().zip(to).filter(|(_, list)| !list.is_empty()) {
        *source = Some(from.iter().position(|other| other == list)?);
    }
    // Empty axes stay where they are, if possible.
    for slot in 0..4 {
        let free = |s: &usize| from[*s].is_empty() && !perm.contains(&Some(*s));
        if perm[slot].is_none() {
            perm[slot] = Some(Some(slot).filter(free).or_else(|| (0..4).find(free))?);
        }
    }
    let [Some(a), Some(b), Some(c), Some(d)] = perm else { return None };
    Some([a, b, c, d])
}

/// Returns the longest runs of atoms that are consecutive in both orders, in the order `to_order`.
fn segments(from_order: &[usize], to_order: &[usize]) -> Vec<Vec<usize>> {
    let mut segments: Vec<Vec<usize>> = Vec::new();
    for &atom in to_order {
        let follows = |last: usize| from_order.windows(2).any(|pair| pair == [last, atom]);
        match segments.last_mut() {
            Some(segment) if segment.last().is_some_and(|&last| follows(last)) => segment.push(atom),
            _ => segments.push(vec![atom]),
        }
    }
    segments
}
