//! Builds the schedule: visits the nodes once, in order, and assigns each tensor a storage.

use super::{
    Accesses, Contents, Schedule, ScheduleError, Step, StepKind, Storage, StorageId, StorageKind,
    subtensor::{is_in_place, subtensors},
};
use texpool_ops::graph::{Graph, IdVec, Node, NodeId, NodeSet, Op, TensorId, keeps_texels};
use texpool_plan::UsageRecord;

/// Turns a graph into steps, in the graph's order. Each node gets one step over all rows of its result, except those
/// in `views`, which need no step. A pad in `views` still gets a step, which writes only the border.
///
/// # Errors
/// If the graph cannot be executed in its order, or if a node in `views` does need a step.
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
    /// For each tensor, the one whose storage it shares: the head of a chain of views, the whole that it is part of,
    /// or itself.
    root: IdVec<TensorId, TensorId>,
    /// Storage of each root.
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
        // In node order, so that a view of a view finds the head of its chain.
        for node in views.iter().filter(|&id| !is_in_place(graph, id)).filter_map(|id| graph.nodes.get(id)) {
            let (from, to) = view_ends(graph, node)?;
            // A view begins at its storage's first texel and has its own pitch; neither holds for a part of another
            // tensor.
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
        // Inputs and outputs get their storage before any step. A tensor whose view is an output is then written
        // straight to the output's texture instead of the pool.
        for (index, &tensor) in graph.inputs.iter().enumerate() {
            builder.computed[tensor] = true;
            builder.add_external_storage(tensor, StorageKind::Input(index))?;
        }
        for (index, &tensor) in graph.outputs.iter().enumerate() {
            builder.add_external_storage(tensor, StorageKind::Output(index))?;
        }
        Ok(builder)
    }

    /// Assigns a graph input or output its texture. A tensor that is both, or is listed twice, keeps the first one.
    fn add_external_storage(&mut self, tensor: TensorId, kind: StorageKind) -> Result<(), ScheduleError> {
        match self.storage_of_root[self.root[tensor]] {
            Some(storage) if self.schedule.storages[storage].tensor() == Some(tensor) => Ok(()),
            Some(storage) => {
                let name = |tensor: TensorId| self.graph.tensors[tensor].name.clone();
                let first = self.schedule.storages[storage].tensor().map(name).unwrap_or_default();
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

    /// Returns the number of rows and the texels per row, if the texels of the whole tensor fit into 32 bits.
    fn rows(&self, tensor: TensorId) -> Result<(u32, u32), ScheduleError> {
        let shape = self.graph.shape(tensor);
        let storage = self.graph.tensors[tensor].storage;
        let row_texels = shape.slices().checked_mul(shape.w).and_then(|n| n.checked_mul(storage.texels()));
        let row_texels = row_texels.and_then(|n| u32::try_from(n).ok());
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

    /// Adds a step. With `pad_border` it reads nothing.
    fn step(&mut self, id: NodeId, node: &Node, pad_border: bool) -> Result<(), ScheduleError> {
        self.check_computed(node)?;
        let step = self.schedule.steps.len();
        let mut reads = Accesses::new();
        for tensor in node.operands().filter(|_| !pad_border) {
            // Constants have no storage. All other operands were computed earlier and got one then.
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
            // The rows are those of the storage. If it is a graph output that is a view of the result, its rows are
            // numbered differently from the rows that the step writes.
            writes.iter_mut().for_each(|access| access.rows.end = access.rows.start + rows);
            writes
        };
        // A step must not read and write the same texture, and all parts of a whole lie in one texture.
        if self.schedule.subtensors[result].is_some() && reads.iter().any(|read| read.storage == storage) {
            let why = format!("`{}` is computed from its neighbours", self.graph.tensors[result].name);
            return Err(ScheduleError::NotInPlace { node: node.op_index, why });
        }
        let kind = if pad_border { StepKind::PadBorder } else { StepKind::Compute };
        let slices = 0..self.graph.shape(result).slices() as u32;
        let step_rows = Step { kind, node: id, rows: 0..rows, slices, reads, to: storage, writes };
        let uses = self.schedule.uses_of(&step_rows);
        // Writes count as uses: several steps write the parts of a tensor written in place, and the last of them may
        // come after all of its readers.
        for &record in uses.reads.iter().chain(&uses.writes) {
            self.schedule.records[record].last = step;
        }
        self.schedule.steps.push(step_rows);
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

/// Checks that every tensor id exists in the graph, since all later code uses them as indices.
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

/// Returns the operand and the result of a node marked as a view, or an error if it cannot be a view.
fn view_ends(graph: &Graph, node: &Node) -> Result<(TensorId, TensorId), ScheduleError> {
    let fail = |why| Err(ScheduleError::NotAView { node: node.op_index, op: node.op.name(), why });
    match (&node.op, &node.inputs[..]) {
        _ if !node.epilogue.is_empty() => fail("it computes something"),
        (Op::Reshape | Op::DepthToSpace(_) | Op::SpaceToDepth(_), &[from, ..]) => {
            match keeps_texels(&node.op, graph.shape(from), graph.shape(node.output)) {
                true if graph.is_constant(from) => fail("its operand is a constant"),
                true => Ok((from, node.output)),
                false => fail("its operand's texels lie elsewhere than its result's"),
            }
        }
        _ => fail("it is no reshape"),
    }
}
