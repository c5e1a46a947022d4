//! Walks the nodes once, in order, and gives each tensor its storage.

use super::{
    Access, Contents, Schedule, ScheduleError, Step, StepKind, Storage, StorageId, StorageKind,
    subtensor::{is_in_place, subtensors},
};
use crate::{
    graph::{Graph, IdVec, Node, NodeId, NodeSet, Op, TensorId, texels_agree},
    plan::UsageRecord,
};

/// Puts a graph in steps: every node but those that need none, in the graph's order, each over all rows of its result.
/// The step of a pad among `views` writes the border alone.
///
/// # Errors
/// If the graph is not one that can be executed in its order, or a node that is said to need no step does.
pub fn schedule(graph: &Graph, views: &NodeSet) -> Result<Schedule, ScheduleError> {
    let mut builder = Builder::new(graph, views)?;
    for (id, node) in graph.nodes.iter_enumerated() {
        match views.contains(id) {
            true if matches!(node.op, Op::Pad(_)) => builder.step(id, node, true)?,
            true if is_in_place(graph, id) => builder.in_place(node)?,
            true => builder.view(node)?,
            false => builder.step(id, node, false)?,
        }
    }
    builder.finish()
}

struct Builder<'a> {
    graph: &'a Graph,
    /// For each tensor the one whose storage it shares: the head of a chain of views, what it is a part of, or itself.
    root: IdVec<TensorId, TensorId>,
    /// The storage of each root.
    storage_of_root: IdVec<TensorId, Option<StorageId>>,
    computed: IdVec<TensorId, bool>,
    schedule: Schedule,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph, views: &NodeSet) -> Result<Self, ScheduleError> {
        let mut root: IdVec<_, TensorId> = graph.tensors.ids().collect();
        check_ids(graph)?;
        let subtensors = subtensors(graph, views)?;
        for (part, subtensors) in subtensors.iter_enumerated() {
            root[part] = subtensors.map_or(part, |inside| inside.tensor);
        }
        // In the order of the nodes, so that a view of a view finds the head of its chain.
        for node in views.iter().filter(|&id| !is_in_place(graph, id)).filter_map(|id| graph.nodes.get(id)) {
            let (from, to) = view_ends(graph, node)?;
            // A view begins at its storage's first texel and has its own pitch; a part of another tensor has neither.
            if subtensors[from].or(subtensors[to]).is_some() {
                let why = "a part of a tensor is looked at in no other shape";
                return Err(ScheduleError::NotAView { node: node.op_index, op: node.op.name(), why });
            }
            root[to] = root[from];
        }
        let computed = graph.tensors.ids().map(|tensor| graph.is_constant(tensor)).collect();
        let storage_of_root = IdVec::from_elem(None, &graph.tensors);
        let mut builder =
            Self { graph, root, storage_of_root, computed, schedule: Schedule { subtensors, ..Schedule::default() } };
        // Inputs and outputs have their storage before any step: what a view makes an output of is then written to the
        // output's texture, and not to the pool.
        for (index, &tensor) in graph.inputs.iter().enumerate() {
            builder.computed[tensor] = true;
            builder.add_external_storage(tensor, StorageKind::Input(index))?;
        }
        for (index, &tensor) in graph.outputs.iter().enumerate() {
            builder.add_external_storage(tensor, StorageKind::Output(index))?;
        }
        Ok(builder)
    }

    /// Gives a graph input or output its texture. A tensor that is both, or is listed twice, keeps the first.
    fn add_external_storage(&mut self, tensor: TensorId, kind: StorageKind) -> Result<(), ScheduleError> {
        match self.storage_of_root[self.root[tensor]] {
            Some(taken) if self.schedule.storages[taken].tensor() == Some(tensor) => Ok(()),
            Some(taken) => {
                let name = |tensor: TensorId| self.graph.tensors[tensor].name.clone();
                let first = self.schedule.storages[taken].tensor().map(name).unwrap_or_default();
                Err(ScheduleError::SharedTexture { first, second: name(tensor) })
            }
            None => self.add_storage(tensor, kind).map(|_| ()),
        }
    }

    fn add_storage(&mut self, tensor: TensorId, kind: StorageKind) -> Result<StorageId, ScheduleError> {
        let (rows, row_texels) = self.rows(tensor)?;
        let id = self.schedule.storages.len();
        self.schedule.storages.push(Storage { kind, contents: Contents::Tensor(tensor), rows, row_texels });
        self.storage_of_root[self.root[tensor]] = Some(id);
        Ok(id)
    }

    /// Rows and texels of a row, if the whole tensor can be counted in 32 bits.
    fn rows(&self, tensor: TensorId) -> Result<(u32, u32), ScheduleError> {
        let shape = self.graph.shape(tensor);
        let row_texels = shape.slices().checked_mul(shape.w).and_then(|n| u32::try_from(n).ok());
        let rows = shape.b.checked_mul(shape.h).and_then(|n| u32::try_from(n).ok());
        match (rows, row_texels) {
            (Some(rows), Some(row_texels)) if rows.checked_mul(row_texels).is_some() => Ok((rows, row_texels)),
            _ => {
                let tensor = self.graph.tensors[tensor].name.clone();
                Err(ScheduleError::TooLarge { tensor, shape: shape.to_string() })
            }
        }
    }

    fn view(&mut self, node: &Node) -> Result<(), ScheduleError> {
        self.check_computed(node)?;
        self.rows(node.output)?;
        self.compute(node)
    }

    fn in_place(&mut self, node: &Node) -> Result<(), ScheduleError> {
        self.check_computed(node)?;
        self.compute(node)
    }

    /// A step; one that writes a border alone reads nothing.
    fn step(&mut self, id: NodeId, node: &Node, pad_border: bool) -> Result<(), ScheduleError> {
        self.check_computed(node)?;
        let step = self.schedule.steps.len();
        let mut reads: Vec<Access> = Vec::new();
        for tensor in node.operands().filter(|_| !pad_border) {
            // Constants have none; whatever else is read was computed before, and got one then.
            let Some(storage) = self.storage_of_root[self.root[tensor]] else { continue };
            for access in self.schedule.accesses(self.graph, tensor, storage) {
                if !reads.contains(&access) {
                    reads.push(access);
                }
            }
        }
        self.compute(node)?;
        let result = node.output;
        let storage = match self.storage_of_root[self.root[result]] {
            Some(storage) => storage,
            None => {
                let kind = StorageKind::Intermediate(self.schedule.records.len());
                let storage = self.add_storage(self.root[result], kind)?;
                self.schedule.records.push(UsageRecord::new(step, step, self.schedule.storages[storage].texels()));
                storage
            }
        };
        let (rows, _) = self.rows(result)?;
        let writes = if pad_border {
            self.schedule.pad_border(self.graph, node, storage)
        } else {
            let mut writes = self.schedule.accesses(self.graph, result, storage);
            // These are the rows of the storage. Where that is a graph output which is a view of the result, it counts
            // other rows than the step writes.
            writes.iter_mut().for_each(|access| access.rows.end = access.rows.start + rows);
            writes
        };
        // No step may read and write one texture, and all parts of a whole lie in one.
        if self.schedule.subtensors[result].is_some() && reads.iter().any(|read| read.storage == storage) {
            let why = format!("`{}` is computed from its neighbours", self.graph.tensors[result].name);
            return Err(ScheduleError::NotInPlace { node: node.op_index, why });
        }
        let kind = if pad_border { StepKind::PadBorder } else { StepKind::Compute };
        let slices = 0..self.graph.shape(result).slices() as u32;
        let step_rows = Step { kind, node: id, rows: 0..rows, slices, reads, to: storage, writes };
        let uses = self.schedule.uses_of(&step_rows);
        // Writes count, too: the parts of what is written in place are written by several steps, and the last of them
        // may come after all that read it.
        for &record in uses.reads.iter().chain(&uses.writes) {
            self.schedule.records[record].last = step;
        }
        self.schedule.steps.push(step_rows);
        self.schedule.uses.push(uses);
        Ok(())
    }

    fn check_computed(&self, node: &Node) -> Result<(), ScheduleError> {
        match node.operands().find(|&tensor| !self.computed[tensor]) {
            Some(tensor) => {
                let tensor = self.graph.tensors[tensor].name.clone();
                Err(ScheduleError::NotYetComputed { node: node.op_index, op: node.op.name(), tensor })
            }
            None => Ok(()),
        }
    }

    fn compute(&mut self, node: &Node) -> Result<(), ScheduleError> {
        if std::mem::replace(&mut self.computed[node.output], true) {
            let tensor = self.graph.tensors[node.output].name.clone();
            return Err(ScheduleError::WrittenTwice { node: node.op_index, op: node.op.name(), tensor });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Schedule, ScheduleError> {
        for (index, &tensor) in self.graph.outputs.iter().enumerate() {
            // A constant counts as computed, but no step would write it to the output's texture.
            if !self.computed[tensor] || self.graph.is_constant(tensor) {
                let tensor = self.graph.tensors[tensor].name.clone();
                return Err(ScheduleError::OutputNotComputed { index, tensor });
            }
        }
        self.schedule.storage_of = self.root.iter().map(|&root| self.storage_of_root[root]).collect();
        Ok(self.schedule)
    }
}

/// Checks that every tensor id is one of the graph's; all that follows indexes with them.
fn check_ids(graph: &Graph) -> Result<(), ScheduleError> {
    let unknown = |&tensor: &TensorId| !graph.tensors.contains_id(tensor);
    let fail = |place: String, tensor| Err(ScheduleError::UnknownTensor { place, tensor });
    if let Some(&tensor) = graph.inputs.iter().find(|t| unknown(t)) {
        return fail("graph inputs".into(), tensor);
    }
    if let Some(&tensor) = graph.outputs.iter().find(|t| unknown(t)) {
        return fail("graph outputs".into(), tensor);
    }
    for node in &graph.nodes {
        if let Some(tensor) = node.operands().chain([node.output]).find(unknown) {
            return fail(format!("node {} ({})", node.op_index, node.op.name()), tensor);
        }
    }
    Ok(())
}

/// Operand and result of a node marked as a view, if it can be one.
fn view_ends(graph: &Graph, node: &Node) -> Result<(TensorId, TensorId), ScheduleError> {
    let fail = |why| Err(ScheduleError::NotAView { node: node.op_index, op: node.op.name(), why });
    match (&node.op, &node.inputs[..]) {
        _ if !node.epilogue.is_empty() => fail("it computes something"),
        (Op::Reshape, &[from, ..]) => match texels_agree(graph.shape(from), graph.shape(node.output)) {
            true if graph.is_constant(from) => fail("its operand is a constant"),
            true => Ok((from, node.output)),
            false => fail("its operand's texels lie elsewhere than its result's"),
        },
        _ => fail("it is no reshape"),
    }
}
