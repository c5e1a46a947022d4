//! The delegate, which selects nodes of a graph and registers kernels for them.

use std::{
    cell::UnsafeCell,
    collections::BTreeSet,
    ffi::c_void,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use texpool::Model;

use crate::{
    abi::{TfLiteContext, TfLiteDelegate, TfLiteStatus, flags},
    decision::Decisions,
    graph::{Node, Tensors},
    guard::guarded,
    host::{Host, report},
    kernel::REGISTRATION,
    log::tell,
    options::Options,
    report::{GraphReport, NodeReport, PartReport},
    runtime_graph::RuntimeGraph,
    select::{Part, Selection},
    shared::DelegateState,
};

/// A delegate: the runtime's struct, followed by its state.
#[repr(C)]
pub(crate) struct Delegate {
    /// The runtime's pointer allows it to be modified.
    base: UnsafeCell<TfLiteDelegate>,
    shared: Arc<DelegateState>,
    decisions: Decisions,
}

impl Delegate {
    /// Creates a delegate for the runtime.
    pub(crate) fn create(options: Options) -> Result<*mut TfLiteDelegate, String> {
        let mut flags = flags::ALLOW_DYNAMIC_TENSORS | flags::REQUIRE_PROPAGATED_SHAPES;
        if options.whole_graph {
            flags |= flags::FULLY_DELEGATED;
        }
        let shared = Arc::new(DelegateState::new(options)?);
        let base = UnsafeCell::new(TfLiteDelegate {
            // Kernels find the shared state by this pointer.
            data: Arc::as_ptr(&shared).cast_mut().cast::<c_void>(),
            prepare: Some(prepare),
            copy_from_buffer_handle: ptr::null_mut(),
            copy_to_buffer_handle: ptr::null_mut(),
            free_buffer_handle: ptr::null_mut(),
            flags,
            opaque_delegate_builder: ptr::null_mut(),
        });
        Ok(Box::into_raw(Box::new(Self { base, shared, decisions: Decisions::default() })).cast())
    }

    /// # Safety
    /// The pointer is NULL, or it comes from [`create`](Self::create) and is destroyed once.
    pub(crate) unsafe fn destroy(delegate: *mut TfLiteDelegate) {
        if !delegate.is_null() {
            // SAFETY: as the caller of this function promises; the runtime's struct is the first member.
            drop(unsafe { Box::from_raw(delegate.cast::<Self>()) });
        }
    }

    /// Takes all nodes of a graph that can be taken.
    ///
    /// # Safety
    /// The pointer is to this delegate.
    unsafe fn apply(&self, host: &Host, delegate: *mut TfLiteDelegate) -> Result<(), String> {
        let plan = host.execution_plan()?;
        if plan.is_empty() {
            return Ok(());
        }
        let layout = host.layout(&plan)?;
        let graph = RuntimeGraph::read(host, &plan)?;
        let options = &self.shared.options;
        let selection = match self.shared.first_values.kept(host.address()) {
            Some(_) => Selection::of_first_values(&graph)?,
            None => {
                let prepare = |model: &Model| self.shared.session(model, None);
                self.decisions.select(&graph, options.named.import(), options.min_operations, &prepare)?
            }
        };
        let RuntimeGraph { nodes, tensors, .. } = graph;
        let report = GraphReport { layout, ..reported(&nodes, &tensors, &selection) };
        self.shared.note(host.address(), report.clone())?;
        self.say(&report, &selection.beyond_device)?;
        let Selection { taken_nodes, parts, .. } = selection;
        if taken_nodes.is_empty() {
            return Ok(());
        }
        if nodes.iter().any(|node| node.unresolved) {
            // The runtime can work out no extents where there is an operator that it does not know.
            // SAFETY: as the caller of this function promises. Another thread may do the same.
            let of_delegate = unsafe { AtomicI64::from_ptr(&raw mut (*delegate).flags) };
            of_delegate.fetch_and(!flags::REQUIRE_PROPAGATED_SHAPES, Ordering::Relaxed);
        }
        self.shared.wait(host.address(), parts);
        // SAFETY: as the caller of this function promises.
        let replaced = unsafe { host.replace(REGISTRATION, &taken_nodes, delegate) };
        match (replaced, self.shared.wait(host.address(), Vec::new())) {
            (Ok(()), 0) => Ok(()),
            (Ok(()), _) => Err("the runtime has not made all parts".to_owned()),
            (Err(reason), _) => Err(reason),
        }
    }

    /// Prints the selection if the user requested it. Otherwise, prints a note if no node was taken, or which nodes
    /// this device cannot compute, since another device may be able to.
    fn say(&self, report: &GraphReport, beyond_device: &BTreeSet<i32>) -> Result<(), String> {
        let (refusals, options) = (report.refusals(), &self.shared.options);
        let count = report.left_count();
        if options.verbose {
            tell(&report.text());
        } else if count == report.nodes.len() && !options.whole_graph {
            let first = refusals.lines().next().unwrap_or("it has none");
            tell(&format!("no node of the graph is taken, the runtime runs all {count} of them. The first: {first}"));
        } else if !options.whole_graph {
            let of_device = report.nodes.iter().filter(|node| beyond_device.contains(&node.index));
            let lines: Vec<String> = of_device.filter_map(NodeReport::line).collect();
            if let [first, others @ ..] = &lines[..] {
                let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
                tell(&format!("left to the runtime, since it cannot be compiled: {first}{more}"));
            }
        }
        match options.whole_graph && count > 0 {
            true => Err(format!("option `whole_graph` is set, and nodes are left:\n{refusals}")),
            false => Ok(()),
        }
    }
}

unsafe extern "C" fn prepare(context: *mut TfLiteContext, delegate: *mut TfLiteDelegate) -> TfLiteStatus {
    let applied = guarded(|| {
        // SAFETY: the runtime passes a context, and the delegate that it was given.
        unsafe {
            let host = Host::new(context)?;
            let this =
                delegate.cast::<Delegate>().as_ref().ok_or_else(|| "the runtime gives no delegate".to_owned())?;
            this.apply(&host, delegate)
        }
    });
    match applied {
        Ok(()) => TfLiteStatus::OK,
        Err(reason) => {
            report(context, &reason);
            TfLiteStatus::DELEGATE_ERROR
        }
    }
}

/// Returns the report on each node, and on the data that each part copies.
fn reported(nodes: &[Node], tensors: &Tensors<'_>, selection: &Selection) -> GraphReport {
    let tensor_name = |index: &i32| tensors.get(*index).map(|tensor| tensor.name.clone()).unwrap_or_default();
    let node_report = |node: &Node| NodeReport {
        index: node.index,
        operator: selection.operators.get(&node.index).cloned().unwrap_or_else(|| format!("operator {}", node.code)),
        result: node.outputs.first().map(tensor_name).unwrap_or_default(),
        refusal: selection.refusals.get(&node.index).cloned(),
    };
    let bytes = |part: &Part, indices: &dyn Fn(&crate::read::Readable) -> Vec<(i32, usize)>| {
        part.readable.as_ref().map(indices).unwrap_or_default().iter().map(|(i, b)| (tensor_name(i), *b)).collect()
    };
    let part_report = |part: &Part| PartReport {
        nodes: part.partition.nodes.clone(),
        inputs: bytes(part, &|r| r.inputs.iter().copied().zip(r.model.inputs().iter().map(|i| i.bytes())).collect()),
        outputs: bytes(part, &|r| r.outputs.iter().copied().zip(r.model.outputs().iter().map(|i| i.bytes())).collect()),
        planned: None,
    };
    GraphReport {
        nodes: nodes.iter().map(node_report).collect(),
        parts: selection.parts.iter().map(part_report).collect(),
        ..GraphReport::default()
    }
}
