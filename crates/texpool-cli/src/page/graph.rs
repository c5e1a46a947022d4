//! The graph of a compiled model in the page's data: tensors, nodes, and the kernels of each node.

use serde::Serialize;
use texpool_compile::CompiledModel;
use texpool_gpu::{DispatchBinding, ParamBinding, source};
use texpool_ops::{
    graph::{Act, Blocks, Epilogue, Graph, TensorId},
    kernels::{Constants, Shader, block_reason},
};
use texpool_plan::TexelFormat;

/// A rewritten graph.
#[derive(Debug, Serialize)]
pub(super) struct GraphData {
    tensors: Vec<TensorData>,
    pub(super) nodes: Vec<NodeData>,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct TensorData {
    name: String,
    dims: Vec<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    constant: bool,
}

/// A node of the rewritten graph.
#[derive(Debug, Serialize)]
pub(super) struct NodeData {
    op: &'static str,
    /// Index of the operator in the model's file.
    file: usize,
    inputs: Vec<usize>,
    output: usize,
    /// Operations that are fused into the node, in the order in which they are applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fused: Vec<String>,
    /// Indices of the node's pipelines in [`Kernels`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<usize>,
}

/// The pipelines of all graphs, each once, and their sources, each once.
#[derive(Debug, Default, Serialize)]
pub(super) struct Kernels {
    pipelines: Vec<PipelineData>,
    sources: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PipelineData {
    kernel: &'static str,
    /// The `override` constants, by which a kernel is specialised for a node.
    constants: Constants,
    /// Why the operator runs this kernel, and why in such blocks.
    why: Vec<String>,
    /// Index of its WGSL in [`Kernels::sources`].
    source: usize,
    #[serde(skip)]
    shader: Shader,
}

impl GraphData {
    pub(super) fn new(graph: &Graph) -> Self {
        let tensors = graph.tensors.iter().map(|tensor| TensorData {
            name: tensor.name.clone(),
            dims: tensor.dims.clone(),
            constant: tensor.constant.is_some(),
        });
        let nodes = graph.nodes.iter().map(|node| NodeData {
            op: node.op.name(),
            file: node.op_index,
            inputs: indices(&node.operands().collect::<Vec<_>>()),
            output: node.output.index(),
            fused: fused(graph, &node.epilogue),
            kernels: Vec::new(),
        });
        Self {
            tensors: tensors.collect(),
            nodes: nodes.collect(),
            inputs: indices(&graph.inputs),
            outputs: indices(&graph.outputs),
        }
    }

    /// Adds the pipelines that the nodes run in this plan.
    pub(super) fn add_kernels(&mut self, compiled: &CompiledModel, kernels: &mut Kernels) {
        let computed = (compiled.format(), compiled.graph().blocks);
        for (node, used) in self.nodes.iter_mut().zip(&compiled.node_kernels()) {
            for (shader, constants) in used {
                let pipeline = kernels.index(*shader, constants, computed);
                if !node.kernels.contains(&pipeline) {
                    node.kernels.push(pipeline);
                }
            }
        }
    }
}

impl Kernels {
    /// Returns the index of a pipeline, which is added if it is new.
    fn index(&mut self, shader: Shader, constants: &Constants, (format, blocks): (TexelFormat, Blocks)) -> usize {
        let existing = self.pipelines.iter().position(|other| other.shader == shader && other.constants == *constants);
        existing.unwrap_or_else(|| {
            // The declarations of the parameters depend on the device; these are those of most devices.
            let text = source(shader, format, ParamBinding::for_words(0), DispatchBinding::Immediates);
            let source = self.sources.iter().position(|other| *other == text).unwrap_or_else(|| {
                self.sources.push(text);
                self.sources.len() - 1
            });
            let (kernel, why, constants) = (shader.name(), reasons(shader, constants, blocks), constants.clone());
            self.pipelines.push(PipelineData { kernel, constants, why, source, shader });
            self.pipelines.len() - 1
        })
    }
}

/// Returns the reasons for the choice of a kernel: for the shader, for its packing of weights, and for its blocks.
fn reasons(shader: Shader, constants: &Constants, blocks: Blocks) -> Vec<String> {
    let chosen = match shader.condition() {
        Some(condition) => format!("Chosen because {condition}."),
        None => "Chosen because it is the only kernel of its operator.".to_owned(),
    };
    let blocks = block_reason(blocks, constants).map(|why| format!("Its blocks: {why}."));
    std::iter::once(chosen).chain(blocks).collect()
}

fn indices(tensors: &[TensorId]) -> Vec<usize> {
    tensors.iter().map(|tensor| tensor.index()).collect()
}

/// Names the operations of an epilogue.
fn fused(graph: &Graph, epilogue: &Epilogue) -> Vec<String> {
    let act = |act: Act| act.name().map(str::to_owned);
    let add = epilogue.add.map(|tensor| format!("ADD {}", graph.tensors[tensor].name));
    act(epilogue.first).into_iter().chain(add).chain(act(epilogue.then)).collect()
}
