//! A kernel: a set of nodes on the device, which the runtime runs in place of the original nodes.

use std::{
    ffi::{c_char, c_void},
    mem, ptr,
    sync::Arc,
};

use texpool::{Session, StopReason};

use crate::{
    abi::{TfLiteContext, TfLiteDelegateParams, TfLiteNode, TfLiteRegistration, TfLiteStatus, code},
    device::Device,
    first_values::VariableState,
    graph::{Node, Tensors},
    guard::guarded,
    host::{Host, partition, report},
    other_graph::OtherGraph,
    read::{Readable, extents, read},
    ready::Ready,
    select::Part,
    shared::{DelegateState, shared_of},
    values::{check_apart, room, view},
};

/// The functions by which the runtime calls kernels.
pub(crate) const REGISTRATION: TfLiteRegistration = TfLiteRegistration {
    init: Some(init),
    free: Some(free),
    prepare: Some(prepare),
    invoke: Some(invoke),
    profiling_string: None,
    builtin_code: code::DELEGATE,
    custom_name: c"texpool".as_ptr(),
    version: 1,
    registration_external: ptr::null_mut(),
    async_kernel: ptr::null_mut(),
    inplace_operator: 0,
};

/// A kernel, which the runtime calls from one thread at a time.
struct Kernel {
    shared: Arc<DelegateState>,
    /// Address that identifies the graph.
    graph: usize,
    part: Part,
    prepared: Result<PreparedSession, String>,
    /// State of the variables that the kernel keeps, or whose first values another kernel holds.
    variables: Option<Arc<VariableState>>,
    /// True while inputs have other extents than in the runs that changed the variables.
    is_outgrown: bool,
    /// Saved plans by extents, with the most recently used last. Searching may take seconds.
    plans: Vec<(Extents, Vec<u8>)>,
}

/// Extents of each tensor.
type Extents = Vec<(i32, Vec<i32>)>;

/// Number of extents for which plans are kept. A plan takes a few kilobytes.
const PLANS_KEPT: usize = 64;

/// Error for a run of a graph of first values.
const HELD: &str = "the runtime gives variables first values that another part holds; make another interpreter";

/// Error for a run that would need the values of variables for other extents.
const OUTGROWN: &str =
    "inputs have other extents than in earlier runs, whose values the variables hold; make another interpreter";

/// A kernel's nodes on the device, planned for these extents.
struct PreparedSession {
    extents: Extents,
    session: Session,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    /// Keeps the device open.
    _device: Arc<Device>,
}

impl Kernel {
    /// # Safety
    /// The pointer is to parameters that the runtime has created for a delegate of this library.
    unsafe fn new(host: &Host, params: *const TfLiteDelegateParams) -> Result<Self, String> {
        // SAFETY: as the caller of this function promises.
        let (shared, partition) = unsafe {
            let params = params.as_ref().ok_or_else(|| "the runtime gives no parameters".to_owned())?;
            (shared_of(params.delegate)?, partition(params))
        };
        let graph = host.address();
        let part = shared.take(graph, &partition.nodes);
        let part = part.ok_or_else(|| "the runtime has divided the graph otherwise than it said".to_owned())?;
        if part.partition.outputs != partition.outputs {
            return Err("the runtime reads other results of a part than it said".to_owned());
        }
        let graphs: Vec<usize> = part.first_values.iter().map(OtherGraph::address).collect();
        let variables = match &graphs[..] {
            [] => shared.first_values.kept(graph),
            graphs => Some(shared.first_values.state_of(graphs)),
        };
        let prepared = Err("the runtime runs a part that is not prepared".to_owned());
        Ok(Self { shared, graph, part, prepared, variables, is_outgrown: false, plans: Vec::new() })
    }

    /// Plans the nodes, unless they are already planned for the current extents.
    fn prepare(&mut self, host: &Host) -> Result<(), String> {
        let Part { nodes, outputs, readable, partition, first_values } = &mut self.part;
        // All nodes are constant.
        if outputs.is_empty() {
            return Ok(());
        }
        let nodes: Vec<&Node> = (*nodes).iter().collect();
        let tensors = Tensors::read(host, nodes.iter().copied());
        let now = extents(&nodes, &tensors);
        if self.prepared.as_ref().is_ok_and(|prepared| prepared.extents == now) {
            self.is_outgrown = false;
            return Ok(());
        }
        // Another session would begin with the first values.
        self.is_outgrown = self.variables.as_ref().is_some_and(|variables| variables.is_changed());
        if self.is_outgrown {
            return Ok(());
        }
        // Drop the session for the previous extents first, to make room.
        self.prepared = Err("the part could not be planned".to_owned());
        let options = self.shared.options.named.import();
        let read_before = readable.take().filter(|readable| readable.extents == now);
        let readable = match read_before.map_or_else(|| read(&nodes, &tensors, outputs, first_values, options), Ok) {
            Ok(readable) => readable,
            Err(error) => {
                // The runtime may call this before it has computed the extents of all tensors. It then calls this
                // again later.
                self.prepared = Err(format!("a part cannot be planned for the extents that inputs have now:\n{error}"));
                return Ok(());
            }
        };
        let Readable { model, inputs, outputs, ready, .. } = readable;
        let saved = self.plans.iter().position(|(extents, _)| *extents == now).map(|at| self.plans.remove(at));
        let new_session = || self.shared.session(&model, saved.as_ref().map(|(_, plan)| &plan[..]));
        let Ready { session, planned, device } =
            ready.map_or_else(new_session, Ok).map_err(|error| error.to_string())?;
        // A plan whose search was ended by Ctrl-C is only used this time.
        if session.compiled().stopped() != Some(StopReason::Cancelled) {
            let over = (self.plans.len() + 1).saturating_sub(PLANS_KEPT);
            self.plans.drain(..over);
            self.plans.push((now.clone(), session.compiled().save()));
        }
        self.shared.note_planned(self.graph, &partition.nodes, planned)?;
        self.prepared = Ok(PreparedSession { extents: now, session, inputs, outputs, _device: device });
        Ok(())
    }

    fn invoke(&mut self, host: &Host) -> Result<(), String> {
        if self.part.nodes.is_empty() {
            return Err(HELD.to_owned());
        }
        if self.part.outputs.is_empty() {
            return Ok(());
        }
        if self.is_outgrown {
            return Err(OUTGROWN.to_owned());
        }
        if let Some(variables) = &self.variables {
            variables.change();
        }
        // After a panic this error stays in place, so that the session is not used again.
        let defect = Err("an earlier run met a defect of texpool; make another interpreter".to_owned());
        let mut prepared = mem::replace(&mut self.prepared, defect);
        let shared = &self.shared;
        let run = |prepared: &mut PreparedSession| {
            prepared.run(host)?;
            shared.warn_once(&mut prepared.session)
        };
        let result = prepared.as_mut().map_err(|reason| reason.clone()).and_then(run);
        self.prepared = prepared;
        result
    }
}

impl PreparedSession {
    /// Runs the model on the runtime's memory.
    fn run(&mut self, host: &Host) -> Result<(), String> {
        let Self { session, inputs, outputs, extents, .. } = self;
        // The runtime does not allocate memory for such outputs before the run.
        for &index in &*outputs {
            let dims = extents.iter().find(|(other, _)| *other == index).map_or(&[][..], |(_, dims)| dims);
            if host.is_dynamic(index) {
                host.resize(index, dims)?;
            }
        }
        check_apart(host, inputs, outputs)?;
        let (mut views, mut rooms) = (Vec::with_capacity(inputs.len()), Vec::with_capacity(outputs.len()));
        for (position, (&index, info)) in inputs.iter().zip(session.inputs()).enumerate() {
            // SAFETY: the runtime does not change the memory before this call returns.
            views.push((position, unsafe { view(host, index, info) }?));
        }
        for (position, (&index, info)) in outputs.iter().zip(session.outputs()).enumerate() {
            // SAFETY: only this node uses the memory of its results, and `check_apart` has ruled out overlaps.
            rooms.push((position, unsafe { room(host, index, info) }?));
        }
        session.run_into(views, rooms).map_err(|error| error.to_string())
    }
}

unsafe extern "C" fn init(context: *mut TfLiteContext, params: *const c_char, _: usize) -> *mut c_void {
    // A kernel that cannot be created is NULL; the delegate detects that and returns an error to the runtime.
    let kernel = guarded(|| {
        // SAFETY: the runtime passes a context, and for delegates the parameters that it has created.
        unsafe { Kernel::new(&Host::new(context)?, params.cast()) }
    });
    match kernel {
        Ok(kernel) => Box::into_raw(Box::new(kernel)).cast(),
        Err(reason) => {
            report(context, &reason);
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn free(_: *mut TfLiteContext, kernel: *mut c_void) {
    if !kernel.is_null() {
        let _ = guarded(|| {
            // SAFETY: `init` has created it, and the runtime frees it once.
            drop(unsafe { Box::from_raw(kernel.cast::<Kernel>()) });
            Ok(())
        });
    }
}

unsafe extern "C" fn prepare(context: *mut TfLiteContext, node: *mut TfLiteNode) -> TfLiteStatus {
    // SAFETY: both pointers come from the runtime.
    unsafe { with_kernel(context, node, Kernel::prepare) }
}

unsafe extern "C" fn invoke(context: *mut TfLiteContext, node: *mut TfLiteNode) -> TfLiteStatus {
    // SAFETY: both pointers come from the runtime.
    unsafe { with_kernel(context, node, Kernel::invoke) }
}

/// # Safety
/// Both pointers come from the runtime, and the node is a kernel of this library.
unsafe fn with_kernel(
    context: *mut TfLiteContext,
    node: *mut TfLiteNode,
    call: impl FnOnce(&mut Kernel, &Host) -> Result<(), String>,
) -> TfLiteStatus {
    let result = guarded(|| {
        // SAFETY: as the caller of this function promises; a kernel is called from one thread at a time.
        let (host, kernel) = unsafe {
            let kernel = node.as_ref().and_then(|node| node.user_data.cast::<Kernel>().as_mut());
            (Host::new(context)?, kernel.ok_or_else(|| "the runtime calls a part that was not made".to_owned())?)
        };
        call(kernel, &host)
    });
    match result {
        Ok(()) => TfLiteStatus::OK,
        Err(reason) => {
            report(context, &reason);
            TfLiteStatus::DELEGATE_ERROR
        }
    }
}
