//! Variables of a model, which keep their values from run to run: what each holds before a run, and what it holds at the
//! operator that is being lowered.

use std::collections::{HashMap, HashSet};

use super::{
    opcode,
    schema::{CallOnceOptions, Model, Operator, OperatorCode, SubGraph, VarHandleOptions},
    tensors::{FileTensor, tensor_id, tensors},
};
use crate::import::{error::Problem, label::label, meter::Meter, model_file::Owner};
use texpool_ops::graph::{Constant, ElementType, Graph, QuantParams, TensorId, Variable};

/// A resource by its container and its name.
type Resource = (String, String);

/// Extents, element type and scale of a variable's values. Its bytes are not converted, so that all that read and write
/// it must agree.
type Form = (Vec<usize>, Option<ElementType>, Option<QuantParams>);

/// The variables of a graph.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    model: Model<'a>,
    /// Resources in the order in which they are first named.
    list: Vec<VariableState>,
    by_name: HashMap<Resource, usize>,
    /// Resources by the tensors that stand for them.
    handles: HashMap<TensorId, usize>,
    /// Resources that the graph assigns.
    assigned: HashSet<Resource>,
    /// Graphs that were called for first values.
    pub(super) called: HashSet<usize>,
    /// True after an operator that reads or assigns one.
    is_used: bool,
}

/// A variable during the import.
#[derive(Debug, Default)]
struct VariableState {
    name: String,
    is_assigned: bool,
    form: Option<Form>,
    initial: Option<Constant>,
    /// The value before a run, if anything reads it.
    input: Option<TensorId>,
    /// The value at the current operator, unless it is that before a run.
    current: Option<TensorId>,
}

/// The value that a variable has for a reader.
pub(super) enum Value {
    /// A tensor of this run.
    Tensor(TensorId),
    /// The value of the run before, which the reader's result becomes.
    Input,
    /// A constant, because nothing assigns the variable. `None` stands for zeros.
    Constant(Option<Constant>),
}

impl<'a> Variables<'a> {
    /// For operators of a graph.
    pub(super) fn new(model: &Model<'a>, operators: &[Operator<'a>]) -> Self {
        let codes = model.operator_codes().unwrap_or_default();
        let (mut names, mut assigned) = (HashMap::new(), HashSet::new());
        for operator in operators {
            match kind(operator, &codes) {
                Some("VAR_HANDLE") => {
                    let resource = resource(operator).ok();
                    names.extend(resource.and_then(|resource| Some((*operator.outputs()?.first()?, resource))));
                }
                Some("ASSIGN_VARIABLE") => {
                    let handle = operator.inputs().and_then(|inputs| inputs.first().copied());
                    assigned.extend(handle.and_then(|handle| names.get(&handle)).cloned());
                }
                _ => {}
            }
        }
        Self {
            model: *model,
            list: Vec::new(),
            by_name: HashMap::new(),
            handles: HashMap::new(),
            assigned,
            called: HashSet::new(),
            is_used: false,
        }
    }

    /// Lets a tensor stand for a resource.
    pub(super) fn name(&mut self, handle: TensorId, operator: &Operator<'_>) -> Result<(), Problem> {
        let index = self.index(resource(operator)?);
        self.handles.insert(handle, index);
        Ok(())
    }

    fn index(&mut self, resource: Resource) -> usize {
        let Self { list, by_name, assigned, .. } = self;
        let is_assigned = assigned.contains(&resource);
        let name = match resource.0.is_empty() {
            true => label(&resource.1),
            false => label(&format!("{}/{}", resource.0, resource.1)),
        };
        *by_name.entry(resource).or_insert_with(|| {
            list.push(VariableState { name, is_assigned, ..VariableState::default() });
            list.len() - 1
        })
    }

    fn variable(&mut self, handle: TensorId) -> Result<&mut VariableState, Problem> {
        let index = self.handles.get(&handle);
        let variable = index.and_then(|&index| self.list.get_mut(index));
        variable.ok_or_else(|| Problem::malformed("its variable is named by no VAR_HANDLE before it"))
    }

    /// Returns the value of a variable for the tensor `result`, which it must fit.
    pub(super) fn read(
        &mut self,
        handle: TensorId,
        result: TensorId,
        tensor: &FileTensor<'_>,
    ) -> Result<Value, Problem> {
        self.is_used = true;
        let variable = self.variable(handle)?;
        variable.fit(tensor)?;
        Ok(match variable.current {
            Some(current) => Value::Tensor(current),
            None if variable.is_assigned => {
                (variable.input, variable.current) = (Some(result), Some(result));
                Value::Input
            }
            None => Value::Constant(variable.initial.clone()),
        })
    }

    /// Assigns a value to a variable.
    pub(super) fn assign(&mut self, handle: TensorId, value: TensorId, tensor: &FileTensor<'_>) -> Result<(), Problem> {
        self.is_used = true;
        let variable = self.variable(handle)?;
        variable.fit(tensor)?;
        variable.current = Some(value);
        Ok(())
    }

    /// Returns whether a variable that was read had no value before the first run.
    pub(super) fn lacks_first_value(&self, handle: TensorId) -> bool {
        let variable = self.handles.get(&handle).and_then(|&index| self.list.get(index));
        let is_given = |variable: &VariableState| {
            variable.initial.is_some() || variable.input.is_none() && variable.current.is_some()
        };
        !variable.is_some_and(is_given)
    }

    /// Takes the first values of variables from a graph that assigns constants.
    pub(super) fn call_once(&mut self, graph: i32, owner: &Owner, meter: &mut Meter) -> Result<(), Problem> {
        if self.is_used {
            return Err(Problem::unsupported("it gives variables their first values after they are used"));
        }
        let subgraphs = self.model.subgraphs().unwrap_or_default();
        let index = usize::try_from(graph).ok().filter(|&index| index > 0 && index < subgraphs.len());
        let index = index.ok_or_else(|| Problem::malformed(format!("graph {graph} is none that it can call")))?;
        if !self.called.insert(index) {
            return Ok(());
        }
        self.initialise(&subgraphs[index], owner, meter)
    }

    fn initialise(&mut self, subgraph: &SubGraph<'a>, owner: &Owner, meter: &mut Meter) -> Result<(), Problem> {
        let codes = self.model.operator_codes().unwrap_or_default();
        let buffers = self.model.buffers().unwrap_or_default();
        let tensors = tensors(subgraph, &buffers, (**owner).as_ref().len(), meter)?;
        let mut handles = HashMap::new();
        for (node, operator) in subgraph.operators().unwrap_or_default().iter().enumerate() {
            let (inputs, outputs) = (operator.inputs().unwrap_or_default(), operator.outputs().unwrap_or_default());
            let missing = || Problem::malformed(format!("node {node} of the graph that it calls lacks a tensor"));
            match (kind(operator, &codes), &inputs[..], &outputs[..]) {
                (Some("VAR_HANDLE"), [], &[handle]) => {
                    let handle = tensor_id(handle, &tensors).ok_or_else(missing)?;
                    handles.insert(handle, self.index(resource(operator)?));
                }
                (Some("ASSIGN_VARIABLE"), &[handle, value], []) => {
                    let handle = tensor_id(handle, &tensors).and_then(|handle| handles.get(&handle));
                    let variable = handle.and_then(|&index| self.list.get_mut(index)).ok_or_else(missing)?;
                    let value = &tensors[tensor_id(value, &tensors).ok_or_else(missing)?];
                    value.computable()?;
                    variable.fit(value)?;
                    variable.initial = value.constant(owner, meter)?;
                    if variable.initial.is_none() {
                        return Err(Problem::unsupported(format!(
                            "the first value of variable `{}` is computed",
                            variable.name
                        )));
                    }
                }
                (kind, ..) => {
                    let kind = kind.unwrap_or("UNKNOWN");
                    let reason = format!("node {node} of the graph that it calls is {kind}, which assigns no constant");
                    return Err(Problem::unsupported(reason));
                }
            }
        }
        Ok(())
    }

    /// Adds the variables that a run reads and writes to the graph, as its last inputs and outputs.
    pub(super) fn finish(&mut self, graph: &mut Graph) {
        for variable in std::mem::take(&mut self.list) {
            let (Some(from), Some(to)) = (variable.current, variable.input) else { continue };
            let (input, output) = (graph.inputs.len(), graph.outputs.len());
            graph.inputs.push(to);
            graph.outputs.push(from);
            graph.variables.push(Variable { name: variable.name, input, output, initial: variable.initial });
        }
    }
}

impl VariableState {
    /// Fails unless a tensor has the form of the variable's other values.
    fn fit(&mut self, tensor: &FileTensor<'_>) -> Result<(), Problem> {
        let form = (tensor.extents()?.0.clone(), tensor.element_type(), tensor.scale()?.clone());
        let stated = self.form.get_or_insert_with(|| form.clone());
        if *stated == form {
            return Ok(());
        }
        let described =
            |(dims, elem, _): &Form| format!("{} {dims:?}", elem.map_or("of another type", ElementType::name));
        let (name, stated, form) = (&self.name, described(stated), described(&form));
        let reason = match stated == form {
            true => format!("variable `{name}` is {form} with another scale elsewhere"),
            false => format!("variable `{name}` is {form}, but {stated} elsewhere"),
        };
        Err(Problem::unsupported(reason))
    }
}

/// The graphs of a model that name each resource.
#[derive(Debug, Default)]
pub(super) struct VariableUsers {
    numbers: HashMap<Resource, usize>,
    /// Graphs that name each resource.
    users: Vec<Vec<usize>>,
    /// Resources that each graph names.
    named: Vec<Vec<usize>>,
    /// Graphs that each graph calls for first values.
    called: Vec<HashSet<usize>>,
    /// Number of graphs that call each graph.
    callers: HashMap<usize, usize>,
}

impl VariableUsers {
    pub(super) fn new(model: &Model<'_>) -> Self {
        let codes = model.operator_codes().unwrap_or_default();
        let mut all = Self::default();
        for (graph, subgraph) in model.subgraphs().unwrap_or_default().iter().enumerate() {
            let (mut named, mut called) = (Vec::new(), HashSet::new());
            for operator in subgraph.operators().unwrap_or_default() {
                let kind = kind(&operator, &codes).unwrap_or_default();
                called.extend(called_once(&operator, kind));
                if let Some(resource) = (kind == "VAR_HANDLE").then(|| resource(&operator).ok()).flatten() {
                    let number = *all.numbers.entry(resource).or_insert(all.users.len());
                    if number == all.users.len() {
                        all.users.push(Vec::new());
                    }
                    if all.users[number].last() != Some(&graph) {
                        all.users[number].push(graph);
                        named.push(number);
                    }
                }
            }
            called.iter().for_each(|&index| *all.callers.entry(index).or_default() += 1);
            all.named.push(named);
            all.called.push(called);
        }
        all
    }

    /// Returns whether a graph calls others for the first values of variables that it does not have to itself.
    pub(super) fn calls_for_others(&self, graph: usize) -> bool {
        let Some(called) = self.called.get(graph) else { return false };
        let is_shared = |index: &usize| self.callers.get(index).is_some_and(|&count| count > 1);
        let named = |index: &usize| self.named.get(*index).map_or(&[][..], Vec::as_slice).iter();
        called.iter().any(|index| is_shared(index) || named(index).any(|&number| self.has_foreign_users(number, graph)))
    }

    /// Returns whether graphs other than this one, and than those that it calls for first values, name the resource of a
    /// VAR_HANDLE.
    pub(super) fn has_others(&self, operator: &Operator<'_>, graph: usize) -> bool {
        let number = resource(operator).ok().and_then(|resource| self.numbers.get(&resource));
        number.is_some_and(|&number| self.has_foreign_users(number, graph))
    }

    fn has_foreign_users(&self, number: usize, graph: usize) -> bool {
        let is_called = |user| self.called.get(graph).is_some_and(|called| called.contains(user));
        self.users[number].iter().any(|user| *user != graph && !is_called(user))
    }
}

/// Returns the graph that an operator of this kind calls for first values.
pub(super) fn called_once(operator: &Operator<'_>, kind: &str) -> Option<usize> {
    let options = (kind == "CALL_ONCE").then(|| operator.options::<CallOnceOptions<'static>>()).flatten()?;
    usize::try_from(options.init_subgraph_index()).ok()
}

/// Returns the name of an operator, if the schema has it.
fn kind(operator: &Operator<'_>, codes: &[OperatorCode<'_>]) -> Option<&'static str> {
    let code = usize::try_from(operator.opcode()).ok().and_then(|index| codes.get(index))?;
    opcode::name(code.code())
}

/// Returns the resource that a VAR_HANDLE names.
fn resource(operator: &Operator<'_>) -> Result<Resource, Problem> {
    let options = operator.options::<VarHandleOptions<'static>>();
    let options = options.ok_or_else(|| Problem::malformed("its options are another operator's"))?;
    Ok((options.container().unwrap_or_default(), options.shared_name().unwrap_or_default()))
}
