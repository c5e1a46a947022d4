//! The `.tflite` reader: verification, tensors, operators in order, and one list of all refusals.

use std::{path::Path, sync::Arc};

use flatbuffers::{ForwardsUOffset, Verifiable, Verifier, VerifierOptions};

use super::{
    context::{Context, Lowering},
    error::{ImportError, Problem, Refusal},
    lower::lower,
    map::map,
    opcode,
    reader::{Schema, Table},
    schema::{Model, OperatorCode, SubGraph},
    tensors::{FileTensor, Owner, dense_budget},
};
use crate::graph::{Graph, Shape, Tensor, TensorId, check};

const IDENTIFIER: &[u8] = b"TFL3";
const VERSION: u32 = 3;
/// Refusals listed at most: beyond any real model, so that a hostile one cannot make the list its weapon.
const MAX_REFUSALS: usize = 10_000;

/// Reads a `.tflite` file. The graph is named after the file; its constants are borrowed from the mapped file.
///
/// The file must not change while the graph is in use: its values would change with it, and cutting it short would end
/// the process at the next read.
///
/// # Errors
/// If the file cannot be read, is no sound model, or holds operators that are not supported; those are all listed.
pub fn open(path: impl AsRef<Path>) -> Result<Graph, ImportError> {
    let path = path.as_ref();
    let bytes = map(path).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    let mut graph = from_bytes(Arc::new(bytes))?;
    if let Some(stem) = path.file_stem() {
        graph.name = stem.to_string_lossy().into_owned();
    }
    Ok(graph)
}

/// Reads a model from shared bytes. The graph is named as in the file; its constants are borrowed from the bytes.
///
/// # Errors
/// As [`open`].
pub fn from_bytes(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Graph, ImportError> {
    let bytes = (*owner).as_ref();
    let model = verified(bytes)?;
    if model.version() != VERSION {
        return Err(ImportError::Version(model.version()));
    }
    let subgraphs = model.subgraphs().unwrap_or_default();
    let Some((subgraph, others)) = subgraphs.split_first() else {
        return Err(ImportError::Damaged { what: "it holds no graph".to_owned() });
    };
    if !others.is_empty() {
        let unnamed = |(i, g): (usize, &SubGraph<'_>)| g.name().unwrap_or_else(|| format!("number {}", i + 1));
        return Err(ImportError::Subgraphs { names: others.iter().enumerate().map(unnamed).collect() });
    }
    let buffers = model.buffers().unwrap_or_default();
    let tensors = subgraph.tensors().unwrap_or_default();
    let tensors = tensors.iter().map(|t| FileTensor::read(t, &buffers, bytes.len())).collect::<Result<Vec<_>, _>>();
    let tensors = tensors.map_err(|what| ImportError::Damaged { what })?;

    let [inputs, outputs] = [("input", subgraph.inputs()), ("output", subgraph.outputs())]
        .map(|(role, ids)| Ports { role, ids: ids.unwrap_or_default() });
    let mut lowering = Lowering {
        graph: Graph {
            name: subgraph.name().unwrap_or_default(),
            tensors: tensors.iter().map(placeholder).collect(),
            nodes: Vec::new(),
            inputs: inputs.indices(tensors.len())?,
            outputs: outputs.indices(tensors.len())?,
        },
        tensors,
        budget: dense_budget(bytes.len()),
    };
    let refusals = lower_all(&mut lowering, &owner, subgraph, &model.operator_codes().unwrap_or_default());
    if !refusals.is_empty() {
        return Err(ImportError::Unsupported(refusals));
    }
    inputs.computable(&lowering.graph.inputs, &lowering.tensors)?;
    outputs.computable(&lowering.graph.outputs, &lowering.tensors)?;
    let graph = pruned(lowering.graph);
    check(&graph)?;
    tracing::debug!(model = graph.name, nodes = graph.nodes.len(), tensors = graph.tensors.len(), "imported");
    Ok(graph)
}

/// The root table of a file that is verified whole.
fn verified(bytes: &[u8]) -> Result<Model<'_>, ImportError> {
    if bytes.is_empty() {
        return Err(ImportError::Empty);
    }
    if bytes.get(4..8) != Some(IDENTIFIER) {
        return Err(ImportError::NotTflite { looks_like: looks_like(bytes) });
    }
    let damaged = |what: String| ImportError::Damaged { what };
    // Tables may share parts, so what is visited may exceed the file; a small file that shares without end must not
    // keep the verifier busy.
    let options = VerifierOptions {
        max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1 << 20),
        ..VerifierOptions::default()
    };
    ForwardsUOffset::<Model<'static>>::run_verifier(&mut Verifier::new(&options, bytes), 0)
        .map_err(|error| damaged(error.to_string().trim_end().replace('\n', ";")))?;
    Table::root(bytes).map(Model::wrap).ok_or_else(|| damaged("it has no root table".to_owned()))
}

/// What a file that is no model begins like.
fn looks_like(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 9] = [
        (b"\x89PNG", "it is a PNG picture"),
        (b"\xff\xd8\xff", "it is a JPEG picture"),
        (b"PK\x03\x04", "it is a zip archive; unpack it first"),
        (b"\x1f\x8b", "it is a gzip archive; unpack it first"),
        (b"\x93NUMPY", "it is a NumPy array"),
        (b"GIF8", "it is a GIF picture"),
        (b"version https://git-lfs", "it is a Git LFS pointer; fetch the file that it stands for"),
        (b"<", "it is a web page or XML; the download went wrong"),
        (b"\x08", "it may be an ONNX or TensorFlow model; convert it to TensorFlow Lite"),
    ];
    if bytes.len() < 8 {
        return "it is too short";
    }
    KNOWN.iter().find(|(start, _)| bytes.starts_with(start)).map_or("its bytes 4 to 8 are not TFL3", |(_, what)| what)
}

/// Where the file's tensor will be: not yet with its values, and with no extents if those make no sense.
fn placeholder(tensor: &FileTensor<'_>) -> Tensor {
    let (dims, shape) = tensor.extents().cloned().unwrap_or((Vec::new(), Shape::new(1, 1, 1, 1)));
    Tensor { name: tensor.name.clone(), shape, dims, constant: None }
}

/// The graph's inputs or outputs.
struct Ports {
    role: &'static str,
    ids: Vec<i32>,
}

impl Ports {
    fn indices(&self, tensors: usize) -> Result<Vec<TensorId>, ImportError> {
        let index = |&id: &i32| {
            let missing =
                || ImportError::Damaged { what: format!("graph {} {id} is no tensor of the file", self.role) };
            usize::try_from(id).ok().filter(|&index| index < tensors).ok_or_else(missing)
        };
        self.ids.iter().map(index).collect()
    }

    /// Asked only once all operators are lowered: those that read or write a bad tensor say so in the list of refusals.
    fn computable(&self, ids: &[TensorId], tensors: &[FileTensor<'_>]) -> Result<(), ImportError> {
        let refuse = |tensor: &FileTensor<'_>, Problem { reason, remedy }| ImportError::Port {
            role: self.role,
            tensor: tensor.name.clone(),
            reason,
            remedy: remedy.to_owned(),
        };
        ids.iter().try_for_each(|&id| tensors[id].computable().map_err(|problem| refuse(&tensors[id], problem)))
    }
}

/// What an operator code stands for.
struct Kind {
    builtin: Option<&'static str>,
    custom: Option<String>,
}

impl Kind {
    fn of(code: &OperatorCode<'_>) -> Self {
        let builtin = opcode::name(code.code());
        Self { builtin, custom: code.custom_code().filter(|_| builtin == Some("CUSTOM")) }
    }

    fn name(&self) -> String {
        match (self.builtin, &self.custom) {
            (Some(builtin), Some(custom)) => format!("{builtin} {custom}"),
            (builtin, _) => builtin.unwrap_or("UNKNOWN").to_owned(),
        }
    }
}

/// Lowers every operator; gives those that cannot be.
fn lower_all<'a>(
    lowering: &mut Lowering<'a>,
    owner: &Owner,
    subgraph: &SubGraph<'a>,
    codes: &[OperatorCode<'a>],
) -> Vec<Refusal> {
    let unknown = Kind { builtin: None, custom: None };
    let kinds: Vec<Kind> = codes.iter().map(Kind::of).collect();
    let mut refusals = Vec::new();
    for (node, operator) in subgraph.operators().unwrap_or_default().into_iter().enumerate() {
        let kind = usize::try_from(operator.opcode()).ok().and_then(|i| kinds.get(i)).unwrap_or(&unknown);
        let result = match kind.builtin {
            Some(name) => Context::new(lowering, owner, operator, node)
                .and_then(|mut context| lower(&mut context, name, kind.custom.as_deref())),
            None => Err(Problem::malformed("its operator code is unknown")),
        };
        let Err(Problem { reason, remedy }) = result else { continue };
        let output = operator.outputs().and_then(|o| usize::try_from(*o.first()?).ok());
        let name = output.and_then(|id| lowering.tensors.get(id)).map(|t| t.name.clone()).unwrap_or_default();
        refusals.push(Refusal { node, name, operator: kind.name(), reason, remedy: remedy.to_owned() });
        if refusals.len() == MAX_REFUSALS {
            break;
        }
    }
    refusals
}

/// The graph with only the tensors that nodes, inputs and outputs name, in the same order.
fn pruned(mut graph: Graph) -> Graph {
    let mut used = vec![false; graph.tensors.len()];
    let nodes = graph.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
    for &id in nodes.chain(&graph.inputs).chain(&graph.outputs) {
        used[id] = true;
    }
    let mut next = 0;
    let new: Vec<TensorId> = used
        .iter()
        .map(|&used| {
            let id = next;
            next += usize::from(used);
            id
        })
        .collect();
    let mut old = used.iter();
    graph.tensors.retain(|_| old.next() == Some(&true));
    let nodes = graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
    for id in nodes.chain(&mut graph.inputs).chain(&mut graph.outputs) {
        *id = new[*id];
    }
    graph
}
