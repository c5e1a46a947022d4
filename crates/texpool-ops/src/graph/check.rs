//! Checks the validity of a graph, so that the layers above need not check it again.

use super::{
    Act, BoundedInput, BoundedOutput, CheckError, ElementType, Graph, IdVec, MAX_ELEMENTS, Node, Quantization,
    Requantize, Shape, Tensor, TensorId, infer,
};

/// Checks a whole graph: ids, sizes, order, one producer per tensor, and every shape against inference.
///
/// # Errors
/// The first error, in node order.
///
/// ```
/// use texpool::graph::{GraphBuilder, Unary, check};
///
/// let mut b = GraphBuilder::new("square roots");
/// let x = b.input("x", &[4])?;
/// let y = b.unary("y", Unary::Sqrt, x)?;
/// let mut graph = b.finish(&[y])?;
/// assert!(check(&graph).is_ok());
/// graph.inputs.clear(); // now nothing gives `x` a value
/// assert!(check(&graph).is_err());
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn check(graph: &Graph) -> Result<(), CheckError> {
    for tensor in &graph.tensors {
        size(tensor)?;
        quantization(tensor)?;
    }
    // Marks tensors that have a value so far: constants, inputs and results of earlier nodes. This detects wrong
    // order, cycles and second producers.
    let mut set: IdVec<_, bool> = graph.tensors.iter().map(|t| t.constant.is_some()).collect();
    for &id in &graph.inputs {
        let tensor = find(graph, id, || "inputs".to_owned())?;
        if set[id] {
            let what = if tensor.constant.is_some() { "a constant" } else { "there twice" };
            return Err(CheckError::Input { tensor: tensor.name.clone(), what });
        }
        set[id] = true;
    }
    let mut computed = IdVec::from_elem(false, &graph.tensors);
    for node in &graph.nodes {
        check_node(graph, node, &set)?;
        set[node.output] = true;
        computed[node.output] = true;
    }
    if graph.outputs.is_empty() {
        return Err(CheckError::NoOutputs);
    }
    let mut taken = IdVec::from_elem(false, &graph.tensors);
    for &id in &graph.outputs {
        let tensor = find(graph, id, || "outputs".to_owned())?;
        if !computed[id] {
            let what = if tensor.constant.is_some() {
                "a constant: no node computes it"
            } else if set[id] {
                "an input: no node computes it"
            } else {
                "computed by no node"
            };
            return Err(CheckError::Output { tensor: tensor.name.clone(), what });
        }
        if std::mem::replace(&mut taken[id], true) {
            return Err(CheckError::Output { tensor: tensor.name.clone(), what: "there twice" });
        }
    }
    variables(graph)?;
    bounded_inputs(graph)?;
    bounded(graph)
}

/// Checks the inputs that may have fewer places: the tensors of their extents follow the caller's inputs.
fn bounded_inputs(graph: &Graph) -> Result<(), CheckError> {
    let (caller, extents) = (graph.caller_inputs().len(), graph.extent_inputs());
    for (position, bounded) in graph.bounded_inputs.iter().enumerate() {
        let tensor = graph.inputs.get(bounded.input).map(|&id| &graph.tensors[id]);
        let name = tensor.map_or_else(|| format!("input {}", bounded.input), |tensor| tensor.name.clone());
        let refuse = |what| Err(CheckError::Input { tensor: name.clone(), what });
        let count = graph.inputs.get(bounded.count).map(|&id| graph.shape(id).checked_len());
        if bounded.input >= caller || tensor.is_none_or(|tensor| bounded.axis >= tensor.dims.len()) {
            return refuse("bounded along no axis of an input of the caller");
        }
        if !extents.contains(&bounded.count) || count != Some(Some(1)) {
            return refuse("bounded by something other than one number behind the caller's inputs");
        }
        let is_other = |other: &BoundedInput| other.count == bounded.count;
        let bound = |of: &BoundedInput| {
            graph.tensors[graph.inputs[of.input]].dims.get(of.axis).and_then(|extent| extent.checked_sub(of.more))
        };
        let before = &graph.bounded_inputs[..position];
        if before.iter().any(|other| (other.input, other.axis) == (bounded.input, bounded.axis)) {
            return refuse("bounded twice along an axis");
        }
        if bounded.step == 0 {
            return refuse("bounded to multiples of 0");
        }
        if bound(bounded).is_none_or(|bound| bound == 0) {
            return refuse("bounded to no places besides those that it always has");
        }
        let is_alike = |other: &BoundedInput| bound(other) == bound(bounded) && other.step == bounded.step;
        if before.iter().find(|other| is_other(other)).is_some_and(|other| !is_alike(other)) {
            return refuse("bounded otherwise than another input with the same extent");
        }
    }
    let is_count = |input: usize| graph.bounded_inputs.iter().any(|bounded| bounded.count == input);
    match extents.into_iter().find(|&input| !is_count(input)) {
        Some(input) => {
            let tensor = graph.tensors[graph.inputs[input]].name.clone();
            Err(CheckError::Input { tensor, what: "neither the caller's nor the extent of another" })
        }
        None => Ok(()),
    }
}

/// Checks the outputs whose extent is found in a run: the tensors of their extents follow the caller's outputs.
fn bounded(graph: &Graph) -> Result<(), CheckError> {
    let others = graph.outputs.len().saturating_sub(graph.variables.len());
    let caller = graph.caller_outputs().len();
    for (position, bounded) in graph.bounded.iter().enumerate() {
        let tensor = graph.outputs.get(bounded.output).map(|&id| &graph.tensors[id]);
        let name = tensor.map_or_else(|| format!("output {}", bounded.output), |tensor| tensor.name.clone());
        let refuse = |what| Err(CheckError::Output { tensor: name.clone(), what });
        let count = graph.outputs.get(bounded.count).map(|&id| graph.shape(id).checked_len());
        if bounded.output >= caller || tensor.is_none_or(|tensor| bounded.axis >= tensor.dims.len()) {
            return refuse("bounded along no axis of an output of the caller");
        }
        if !(caller..others).contains(&bounded.count) || count != Some(Some(1)) {
            return refuse("bounded by something other than one number behind the caller's outputs");
        }
        let is_same = |other: &BoundedOutput| (other.output, other.axis) == (bounded.output, bounded.axis);
        if graph.bounded[..position].iter().any(is_same) {
            return refuse("bounded twice along an axis");
        }
    }
    for limit in &graph.limits {
        let count = graph.outputs.get(limit.count).map(|&id| graph.shape(id).checked_len());
        if !(caller..others).contains(&limit.count) || count != Some(Some(1)) {
            let what = "limited, and other than one number behind the caller's outputs";
            return Err(CheckError::Output { tensor: limit.name.clone(), what });
        }
    }
    let is_count = |output: usize| graph.counts().any(|count| count == output);
    match (caller..others).find(|&output| !is_count(output)) {
        Some(output) => {
            let tensor = graph.tensors[graph.outputs[output]].name.clone();
            Err(CheckError::Output { tensor, what: "neither the caller's nor the extent of another" })
        }
        None => Ok(()),
    }
}

/// Checks the variables: they are the last inputs and outputs, and what a run writes is what the next one reads.
fn variables(graph: &Graph) -> Result<(), CheckError> {
    let [inputs, outputs] = [&graph.inputs, &graph.outputs].map(|list| list.len().checked_sub(graph.variables.len()));
    for (position, variable) in graph.variables.iter().enumerate() {
        let refuse = |what| Err(CheckError::Variable { variable: variable.name.clone(), what });
        let last = [inputs, outputs].map(|first| first.map(|first| first + position));
        if last != [variable.input, variable.output].map(Some) {
            return refuse("not among the last inputs and outputs in order");
        }
        let (from, to) = (graph.outputs[variable.output], graph.inputs[variable.input]);
        let (from, to) = (&graph.tensors[from], &graph.tensors[to]);
        if from.dims != to.dims {
            return refuse("written with other extents than it is read");
        }
        if (from.element_type, from.quantization) != (to.element_type, to.quantization) {
            return refuse("written with another type than it is read");
        }
        if let Some(initial) = &variable.initial {
            let elements = to.shape.checked_len();
            let bytes = elements.and_then(|elements| elements.checked_mul(initial.dtype.size()));
            if bytes != Some(initial.bytes.len()) {
                return refuse("of another size than its first value");
            }
        }
    }
    Ok(())
}

fn find(graph: &Graph, id: TensorId, place: impl Fn() -> String) -> Result<&Tensor, CheckError> {
    graph.tensors.get(id).ok_or_else(|| CheckError::NoSuchTensor { place: place(), id })
}

/// Checks a single tensor: extents, number of elements, and number of bytes of its values.
pub(super) fn size(tensor: &Tensor) -> Result<(), CheckError> {
    let name = || tensor.name.clone();
    let dims = || tensor.dims.clone();
    if tensor.dims.contains(&0) || tensor.shape.dims().contains(&0) {
        return Err(CheckError::Empty { tensor: name(), dims: dims() });
    }
    let stated = tensor.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS);
    let Some(elements) = stated else {
        return Err(CheckError::TooLarge { tensor: name(), dims: dims() });
    };
    // Both fields are public, so they may contradict each other in a graph built by hand.
    if tensor.shape.checked_len() != Some(elements) {
        return Err(CheckError::Dims { tensor: name(), dims: dims(), shape: tensor.shape });
    }
    if tensor.host_permutation.len().is_some_and(|ordered| ordered != elements) {
        return Err(CheckError::HostPermutation { tensor: name(), dims: dims() });
    }
    if let Some(constant) = &tensor.constant {
        // Saturates on 32-bit targets, where no constant can have that many bytes, so the comparison fails as it
        // should.
        let (expected, found) = (elements.saturating_mul(constant.dtype.size()), constant.bytes.len());
        if expected != found {
            return Err(CheckError::Constant { tensor: name(), expected, found });
        }
    }
    Ok(())
}

/// Checks that a tensor's quantisation is possible for its type. The scale must be positive because values are
/// divided by it.
fn quantization(tensor: &Tensor) -> Result<(), CheckError> {
    let Some(Quantization { scale, zero_point }) = tensor.quantization else { return Ok(()) };
    let element_type = tensor.element_type;
    let (least, most) = element_type.range();
    let reason = if element_type.is_float() || element_type == ElementType::Bool || element_type.size() > 4 {
        "only integers of 8, 16 or 32 bits are"
    } else if !(scale.is_finite() && scale > 0.0) {
        "its scale is no positive number"
    } else if !(least..=most).contains(&i64::from(zero_point)) {
        "its zero point is beyond the type"
    } else {
        return Ok(());
    };
    Err(CheckError::Quantization { tensor: tensor.name.clone(), element_type, reason })
}

/// Checks one node, given the tensors that have a value before it.
fn check_node(graph: &Graph, node: &Node, set: &IdVec<TensorId, bool>) -> Result<(), CheckError> {
    let (index, operator) = (node.op_index, node.op.name());
    let place = || format!("node {index} {operator}");
    let output = find(graph, node.output, place)?;
    if set[node.output] {
        return Err(CheckError::Rewritten { node: index, operator, tensor: output.name.clone() });
    }
    let mut shapes = Vec::with_capacity(node.inputs.len());
    for &id in node
        .inputs
        .iter()
        .chain(&node.epilogue.add)
        .chain(&node.epilogue.first.constant())
        .chain(&node.epilogue.then.constant())
    {
        let tensor = find(graph, id, place)?;
        if !set[id] {
            return Err(CheckError::Unset { node: index, operator, tensor: tensor.name.clone() });
        }
        shapes.push(tensor.shape);
    }
    // Inference needs only the inputs; `check_tail` checks the epilogue's tensors.
    shapes.truncate(node.inputs.len());
    for (position, role) in node.op.constant_operands() {
        if let Some(&id) = node.inputs.get(*position)
            && !graph.is_constant(id)
        {
            let tensor = graph.tensors[id].name.clone();
            return Err(CheckError::NotConstant { node: index, operator, role, tensor });
        }
    }
    let inferred = infer(&node.op, &shapes, output.shape).map_err(|source| CheckError::Shape {
        node: index,
        operator,
        tensor: output.name.clone(),
        source: Box::new(source),
    })?;
    if inferred != output.shape {
        return Err(CheckError::Disagrees {
            node: index,
            operator,
            tensor: output.name.clone(),
            stated: output.shape,
            inferred: Box::new(inferred),
        });
    }
    check_tail(graph, node, inferred)
}

fn check_tail(graph: &Graph, node: &Node, result: Shape) -> Result<(), CheckError> {
    let (index, operator) = (node.op_index, node.op.name());
    let misfit = |tensor: &Tensor| CheckError::Epilogue {
        node: index,
        operator,
        tensor: tensor.name.clone(),
        found: tensor.shape,
        result: Box::new(result),
    };
    for act in [node.epilogue.first, node.epilogue.then] {
        let Some(id) = act.constant() else { continue };
        let tensor = &graph.tensors[id];
        // Values per channel are packed behind the kernel's weights once, before any run.
        if tensor.constant.is_none() {
            let tensor = tensor.name.clone();
            return Err(CheckError::NotConstant { node: index, operator, role: "alpha", tensor });
        }
        if tensor.shape.checked_len() != result.c.checked_mul(act.constant_rows()) {
            return Err(misfit(tensor));
        }
        if let Act::Requantize(Requantize { least, most, .. }) = act
            && !(Requantize::LIMITS[0] <= least && least <= most && most <= Requantize::LIMITS[1])
        {
            return Err(CheckError::Requantize { node: index, operator, least, most });
        }
    }
    if let Some(tensor) = node.epilogue.add.map(|id| &graph.tensors[id]) {
        // Kernels find the addend's texel by row and pixel of the result, so its extents must match except for the
        // channels.
        let fits = Shape { c: tensor.shape.c, ..result } == tensor.shape && tensor.shape.c <= result.c;
        if !fits {
            return Err(misfit(tensor));
        }
    }
    Ok(())
}
