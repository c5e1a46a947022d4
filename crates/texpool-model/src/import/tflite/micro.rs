//! TensorFlow Lite Micro: the tensors that its interpreter keeps in an arena, and plans that it reads from the model.
//!
//! That runtime places tensors by a greedy rule when it starts. If the file has metadata called
//! `OfflineMemoryAllocation`, it uses the offsets there instead ([its documentation]). [`MicroArena`] reads the tensors
//! with the lives and sizes that the runtime gives them, and writes a plan into a copy of the file.
//!
//! Kernels may ask for scratch buffers, which depend on the runtime's build, and which it places around the plan when it
//! starts. A plan that knows them ([`MicroArena::scratch`]) leaves room for them. Variables and constants are not in this part
//! of the arena.
//!
//! ```no_run
//! use texpool::import::micro::MicroArena;
//!
//! let bytes = std::fs::read("model.tflite")?;
//! let arena = MicroArena::read(&bytes)?;
//! let plan = arena.planner().plan()?;
//! println!("{} bytes, {} by the runtime's own rule", plan.total, arena.runtime_total()?);
//! std::fs::write("model_planned.tflite", arena.write(&plan)?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [its documentation]: https://github.com/tensorflow/tflite-micro/blob/main/tensorflow/lite/micro/docs/memory_management.md

pub use super::micro_error::MicroError;

use super::{
    micro_file, opcode,
    schema::{Buffer as FileBuffer, Model, Operator, SubGraph, Tensor},
    supported,
    tensors::type_name,
};
use crate::import::ImportError;
use texpool_plan::{ArenaPlan, ArenaPlanner, Buffer, Strategy, UsageRecord};

/// Alignment of tensors in the runtime's arena, in bytes. Sizes are rounded up to it.
pub const ALIGNMENT: u64 = 16;

/// The tensors of a model that TensorFlow Lite Micro places in its arena.
///
/// A `RESHAPE` computes nothing in that runtime if its result lies on its operand, so both count as one buffer.
///
/// ```no_run
/// use texpool::import::micro::MicroArena;
///
/// let bytes = std::fs::read("model.tflite")?;
/// let mut arena = MicroArena::read(&bytes)?;
/// arena.scratch(0, 1024)?; // scratch memory of the first operator's kernel
/// let plan = arena.planner().plan()?;
/// println!("{} tensors in {} buffers", arena.len(), arena.buffers().len());
/// println!("{} bytes, {} by the runtime, {} side by side", plan.total, arena.runtime_total()?, arena.naive_total());
/// std::fs::write("model_planned.tflite", arena.write(&plan)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MicroArena<'a> {
    bytes: &'a [u8],
    /// A record for each tensor and scratch buffer in the arena, as the runtime plans them.
    records: Vec<UsageRecord>,
    buffers: Vec<Buffer>,
    /// For each tensor of all graphs of the file, its buffer if it is planned.
    buffer_of: Vec<Option<usize>>,
    operators: usize,
}

/// Step of the first operator.
const FIRST_OPERATOR: usize = 2;

impl<'a> MicroArena<'a> {
    /// Reads the tensors of a `.tflite` file's first graph. Tensors of further graphs, which control flow calls, are
    /// left to the runtime.
    ///
    /// # Errors
    /// [`MicroError::NotTfLite`], [`MicroError::Import`], [`MicroError::Type`], [`MicroError::Extents`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, MicroError> {
        if !super::is(bytes) {
            return Err(MicroError::NotTfLite);
        }
        let model = supported(bytes)?;
        let graphs = model.subgraphs().unwrap_or_default();
        let Some(graph) = graphs.first() else {
            return Err(ImportError::Malformed { what: "it holds no graph".to_owned() }.into());
        };
        let buffers = model.buffers().unwrap_or_default();
        let tensors = graph.tensors().unwrap_or_default();
        let mut sizes = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            sizes.push(arena_bytes(tensor, &buffers)?);
        }
        let lives = Lives::of(graph, &model, tensors.len())?;
        let operators = graph.operators().unwrap_or_default().len();
        let buffer_of = vec![None; tensors.len()];
        let mut arena = Self { bytes, records: Vec::new(), buffers: Vec::new(), buffer_of, operators };
        for (tensor, &size) in sizes.iter().enumerate() {
            let Some(size) = size else { continue };
            let (first, last) = lives.steps[tensor];
            arena.records.push(UsageRecord::new(first, last, size));
            let name = || tensors[tensor].name().unwrap_or_default();
            arena.buffer_of[tensor] = Some(arena.buffer(&lives, &sizes, tensor, name));
        }
        let further = graphs.iter().skip(1).map(|graph| graph.tensors().unwrap_or_default().len());
        arena.buffer_of.resize(tensors.len() + further.sum::<usize>(), None);
        Ok(arena)
    }

    /// Returns the buffer of a tensor: that of the operand that it is a view of, or a new one.
    fn buffer(&mut self, lives: &Lives, sizes: &[Option<u64>], tensor: usize, name: impl Fn() -> String) -> usize {
        let (first, last) = lives.steps[tensor];
        let size = sizes[tensor].unwrap_or_default();
        let shared = lives.viewed[tensor].and_then(|operand| {
            // The operand must die where the view is born, and be planned before it.
            let dies = lives.steps[operand].1 == first && sizes[operand] == Some(size);
            self.buffer_of[operand].filter(|_| dies)
        });
        match shared {
            Some(buffer) => {
                self.buffers[buffer].live.end = last + 1;
                buffer
            }
            None => {
                self.buffers.push(Buffer::new(first..last + 1, size).aligned(ALIGNMENT).named(name()));
                self.buffers.len() - 1
            }
        }
    }

    /// Adds the scratch buffer that a kernel asks for while an operator runs, counted from 0.
    ///
    /// # Errors
    /// [`MicroError::NoOperator`].
    pub fn scratch(&mut self, operator: usize, bytes: u64) -> Result<(), MicroError> {
        if operator >= self.operators {
            return Err(MicroError::NoOperator { operator, count: self.operators });
        }
        let (step, size) = (operator + FIRST_OPERATOR, bytes.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        self.records.push(UsageRecord::new(step, step, size));
        let name = format!("scratch of operator {operator}");
        self.buffers.push(Buffer::new(step..step + 1, size).aligned(ALIGNMENT).named(name));
        Ok(())
    }

    /// The buffers to plan, in bytes, with steps as the runtime counts them: 0 for tensors that nothing writes, 1 for
    /// the inputs, then one for each operator.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Returns a planner for the buffers.
    pub fn planner(&self) -> ArenaPlanner<'static> {
        ArenaPlanner::from_iter(self.buffers.iter().cloned())
    }

    /// The number of tensors and scratch buffers in the arena. Those that share a buffer count separately.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether the runtime places nothing in this part of the arena.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the bytes that they take with a place of their own each.
    pub fn naive_total(&self) -> u64 {
        self.records.iter().map(|record| record.size).sum()
    }

    /// Returns the bytes that the runtime's own greedy planner takes for them.
    ///
    /// # Errors
    /// [`MicroError::Plan`] if the sizes overflow.
    pub fn runtime_total(&self) -> Result<u64, MicroError> {
        Ok(Strategy::OffsetsGreedyBySizeMicro.place(&self.records)?.total())
    }

    /// Returns a copy of the file with the plan as metadata, in place of an earlier plan. Everything else stays as it is.
    ///
    /// # Errors
    /// [`MicroError::Plan`] if the plan does not place these buffers, [`MicroError::File`] if the file keeps values behind
    /// its tables, or would exceed 2 GiB.
    pub fn write(&self, plan: &ArenaPlan) -> Result<Vec<u8>, MicroError> {
        self.planner().check(plan)?;
        let offset = |buffer: &Option<usize>| buffer.map_or(Ok(-1), |buffer| i32::try_from(plan.offsets[buffer]));
        let offsets: Result<Vec<i32>, _> = self.buffer_of.iter().map(offset).collect();
        let offsets = offsets.map_err(|_| MicroError::File("the arena has more than 2 GiB"))?;
        micro_file::with_offsets(self.bytes, &offsets)
    }
}

/// Lives of the tensors of a graph.
struct Lives {
    /// First and last step of each tensor.
    steps: Vec<(usize, usize)>,
    /// The operand that a tensor is a view of, if a `RESHAPE` computes it.
    viewed: Vec<Option<usize>>,
}

impl Lives {
    /// Follows the runtime: a tensor lives from the operator that writes it first to the last one that uses it, inputs
    /// from before the first operator, and outputs to the end.
    fn of(graph: &SubGraph<'_>, model: &Model<'_>, tensors: usize) -> Result<Self, MicroError> {
        let codes = model.operator_codes().unwrap_or_default();
        let reshape = opcode::code("RESHAPE");
        let index = |id: i32| match usize::try_from(id) {
            Ok(id) if id < tensors => Ok(Some(id)),
            Err(_) => Ok(None),
            Ok(_) => Err(ImportError::Malformed { what: format!("tensor {id} is not among its {tensors}") }),
        };
        let indices = |ids: Option<Vec<i32>>| -> Result<Vec<usize>, ImportError> {
            ids.unwrap_or_default().into_iter().filter_map(|id| index(id).transpose()).collect()
        };
        let mut created: Vec<Option<usize>> = vec![None; tensors];
        let mut used = vec![0; tensors];
        let mut viewed = vec![None; tensors];
        for tensor in indices(graph.inputs())? {
            (created[tensor], used[tensor]) = (Some(1), 1);
        }
        let operators = graph.operators().unwrap_or_default();
        for (operator, step) in operators.iter().zip(FIRST_OPERATOR..) {
            let (inputs, outputs) = (indices(operator.inputs())?, indices(operator.outputs())?);
            for &tensor in &outputs {
                created[tensor] = created[tensor].or(Some(step));
            }
            for &tensor in inputs.iter().chain(&outputs) {
                used[tensor] = step;
            }
            let code = |operator: &Operator<'_>| codes.get(usize::try_from(operator.opcode()).ok()?).map(|c| c.code());
            if code(operator) == reshape
                && let ([operand, ..], [result]) = (&inputs[..], &outputs[..])
            {
                viewed[*result] = Some(*operand).filter(|operand| operand != result);
            }
        }
        let end = operators.len() + FIRST_OPERATOR - 1;
        for tensor in indices(graph.outputs())? {
            created[tensor] = created[tensor].or(Some(end));
            used[tensor] = end;
        }
        let steps = created.into_iter().zip(used).map(|(created, used)| (created.unwrap_or(0), used)).collect();
        Ok(Self { steps, viewed })
    }
}

/// Returns the bytes of a tensor in the arena, rounded up, or `None` if the runtime keeps it elsewhere.
fn arena_bytes(tensor: &Tensor<'_>, buffers: &[FileBuffer<'_>]) -> Result<Option<u64>, MicroError> {
    let buffer = usize::try_from(tensor.buffer()).ok().and_then(|index| buffers.get(index));
    let constant = buffer.is_some_and(|buffer| {
        buffer.data().is_some_and(|data| !data.is_empty()) || (buffer.offset() > 1 && buffer.size() > 0)
    });
    if constant || tensor.is_variable() {
        return Ok(None);
    }
    let name = || tensor.name().unwrap_or_default();
    let type_bytes = match element_bytes(tensor.dtype()) {
        Some(bytes) => bytes,
        None => return Err(MicroError::Type { tensor: name(), type_name: type_name(tensor.dtype()) }),
    };
    let extents = tensor.shape().unwrap_or_default();
    let elements = extents.iter().try_fold(1u64, |product, &extent| product.checked_mul(u64::try_from(extent).ok()?));
    match elements.and_then(|elements| elements.checked_mul(type_bytes)) {
        Some(0) => Ok(None),
        Some(bytes) if bytes <= 1 << 31 => Ok(Some(bytes.next_multiple_of(ALIGNMENT))),
        _ => Err(MicroError::Extents { tensor: name(), extents }),
    }
}

/// Returns the bytes of an element in the runtime's arena, by the code of its type in the schema. 4-bit integers take a byte
/// there. Strings and variants have no fixed size.
const fn element_bytes(dtype: i8) -> Option<u64> {
    Some(match dtype {
        // FLOAT32, INT32, RESOURCE, UINT32
        0 | 2 | 13 | 15 => 4,
        // FLOAT16, INT16, UINT16, BFLOAT16
        1 | 7 | 16 | 18 => 2,
        // UINT8, BOOL, INT8, INT4
        3 | 6 | 9 | 17 => 1,
        // INT64, COMPLEX64, FLOAT64, UINT64
        4 | 8 | 10 | 12 => 8,
        // COMPLEX128
        11 => 16,
        _ => return None,
    })
}
