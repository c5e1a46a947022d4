//! The provider of a session, which selects nodes and compiles them.

use std::{
    ffi::c_char,
    ptr, slice,
    sync::{Arc, Mutex, PoisonError},
};

use texpool::Context;

use crate::{
    api::{
        provider::{OrtEp, OrtNodeComputeInfo, OrtNodeFusionOptions},
        types::{ORT_API_VERSION, OrtEpGraphSupportInfo, OrtGraph, OrtLogger, OrtNode, OrtStatus, Severity},
    },
    budget::share_budget,
    compute::{ComputeInfo, Warnings},
    failure::Failure,
    graph::Graph,
    host::{Host, quiet},
    options::Options,
    partition::Partition,
    read_graph::{ReadGraph, ports, read_graph},
    report::{GraphReport, Report, called},
    survey::{Survey, survey},
    trials::Trials,
};

/// Name of this provider in the runtime.
pub(crate) const NAME: &std::ffi::CStr = c"TexpoolExecutionProvider";

/// The provider of a session. The runtime calls it through its table, so that must be the first member.
#[repr(C)]
pub(crate) struct Provider {
    table: OrtEp,
    host: Host,
    logger: *const OrtLogger,
    context: Context,
    options: Arc<Options>,
    report: Mutex<Report>,
    warnings: Arc<Warnings>,
    trials: Trials,
}

impl Provider {
    pub(crate) fn new(host: Host, logger: *const OrtLogger, context: Context, options: Options) -> Box<Self> {
        let absent = ptr::null();
        let table = OrtEp {
            ort_version_supported: ORT_API_VERSION,
            get_name,
            get_capability,
            compile,
            release_node_compute_infos,
            get_preferred_data_layout: absent,
            should_convert_data_layout_for_op: absent,
            set_dynamic_options: absent,
            on_run_start: absent,
            on_run_end: absent,
            create_allocator: absent,
            create_sync_stream_for_device: absent,
            get_compiled_model_compatibility_info: absent,
            get_kernel_registry: absent,
            is_concurrent_run_supported: absent,
        };
        let device = context.device().adapter_info().name;
        let report = Mutex::new(Report { device, ..Report::default() });
        let (options, warnings) = (Arc::new(options), Arc::new(Warnings::new(host, logger)));
        let trials = Trials::new(context.clone(), Arc::clone(&options));
        Box::new(Self { table, host, logger, context, options, report, warnings, trials })
    }

    /// Returns the pointer for the runtime, which passes it to `release` later.
    pub(crate) fn into_raw(self: Box<Self>) -> *mut OrtEp {
        Box::into_raw(self).cast()
    }

    /// # Safety
    /// The pointer is NULL, or it comes from `into_raw` and is not used afterwards.
    pub(crate) unsafe fn release(ep: *mut OrtEp) {
        if !ep.is_null() {
            // SAFETY: as the caller promises.
            quiet((), || drop(unsafe { Box::from_raw(ep.cast::<Self>()) }));
        }
    }

    /// Selects the nodes of a graph to compile.
    ///
    /// # Safety
    /// The graph and `info` exist.
    unsafe fn take(&self, graph: *const OrtGraph, info: *mut OrtEpGraphSupportInfo) -> Result<(), Failure> {
        // SAFETY: as the caller promises.
        let ReadGraph { graph, nodes, parent } = unsafe { read_graph(self.host, graph)? };
        let survey = match parent {
            // The body of a control flow node runs many times, and between runs the host needs the values in its
            // memory.
            Some(_) => {
                let why = "it is in the body of a control flow node, which stays where that is".to_owned();
                Survey {
                    refusals: (0..graph.nodes.len()).map(|node| (node, why.clone())).collect(),
                    ..Survey::default()
                }
            }
            None => survey(&graph, &self.options.reading, &|graph, part, model| self.trials.run(graph, part, model)),
        };
        self.tell_of_device(&graph, &survey);
        for part in &survey.parts {
            let fused: Vec<*const OrtNode> = part.nodes.iter().map(|&node| nodes[node]).collect();
            let options =
                OrtNodeFusionOptions { ort_version_supported: ORT_API_VERSION, drop_constant_initializers: true };
            let add = self.host.ep.ep_graph_support_info_add_nodes_to_fuse;
            // SAFETY: as the caller promises; the nodes belong to the graph.
            unsafe { self.host.check(add(info, fused.as_ptr(), fused.len(), &options))? };
        }
        self.tell(GraphReport::new(&graph, parent, &survey));
        Ok(())
    }

    /// Logs which nodes this device cannot compute, since another device may be able to.
    fn tell_of_device(&self, graph: &Graph<'_>, survey: &Survey) {
        let mut nodes = survey.beyond_device.iter().filter_map(|node| Some((node, survey.refusals.get(node)?)));
        if let Some((&first, why)) = nodes.next() {
            let more = nodes.count();
            let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            let called = called(graph, first);
            let message = format!("left to other providers, since it cannot be compiled: {called}: {why}{more}");
            self.host.log(self.logger, Severity::Warning, &message);
        }
    }

    /// Logs the result for a graph, and updates the report.
    fn tell(&self, news: GraphReport) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let (summary, nothing) = (news.summary(), news.groups == 0 && news.key.1.is_none());
        let refusals = news.refusals.clone();
        let known_graph = report.graphs.iter().any(|graph| graph.key == news.key && graph.groups > 0);
        if report.note(news) {
            // Users hardly expect that no node of a model is selected, so this is logged as a warning.
            let loud = self.options.verbose || nothing && !known_graph;
            self.host.log(self.logger, if loud { Severity::Warning } else { Severity::Info }, &summary);
            let severity = if self.options.verbose { Severity::Warning } else { Severity::Info };
            refusals.iter().for_each(|refusal| self.host.log(self.logger, severity, &format!("left: {refusal}")));
        }
        self.write(&report);
    }

    fn write(&self, report: &Report) {
        if let Some(path) = &self.options.report
            && let Err(error) = report.write(path)
        {
            let message = format!("the report cannot be written to {}: {error}", path.display());
            self.host.log(self.logger, Severity::Warning, &message);
        }
    }

    /// Compiles a partition for each of the fused nodes.
    ///
    /// # Safety
    /// The graphs and nodes exist.
    unsafe fn compile(
        &self,
        graphs: &[*const OrtGraph],
        fused_nodes: &[*const OrtNode],
    ) -> Result<Vec<ComputeInfo>, Failure> {
        let partition = |(&graph, &fused): (&*const OrtGraph, &*const OrtNode)| {
            // SAFETY: as the caller promises.
            let (graph, ports) = unsafe { (read_graph(self.host, graph)?.graph, ports(self.host, fused)?) };
            let trial = self.trials.take(ports[1].iter().cloned());
            Ok(Arc::new(Partition::new(&graph, ports, self.context.clone(), Arc::clone(&self.options), trial)?))
        };
        let partitions = graphs.iter().zip(fused_nodes).map(partition).collect::<Result<Vec<_>, Failure>>()?;
        if let Some(budget) = self.options.named.budget() {
            share_budget(&partitions, budget)?;
        }
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        for partition in &partitions {
            let costs = partition.costs();
            let costs = costs.unwrap_or_else(|| "compiled at its first run, when its shapes are known".to_owned());
            let line = format!("partition of {}: {costs}", partition.name);
            self.host.log(self.logger, if self.options.verbose { Severity::Warning } else { Severity::Info }, &line);
            // Only the main graph has partitions.
            if let Some(main) = report.graphs.iter_mut().rev().find(|graph| graph.key.1.is_none()) {
                main.partitions.push(line);
            }
        }
        self.write(&report);
        Ok(partitions
            .into_iter()
            .map(|partition| ComputeInfo::new(self.host, partition, Arc::clone(&self.warnings)))
            .collect())
    }
}

unsafe extern "system" fn get_name(_ep: *const OrtEp) -> *const c_char {
    NAME.as_ptr()
}

unsafe extern "system" fn get_capability(
    ep: *mut OrtEp,
    graph: *const OrtGraph,
    info: *mut OrtEpGraphSupportInfo,
) -> *mut OrtStatus {
    // SAFETY: the runtime passes a pointer from `into_raw`, before it calls `release`.
    let provider = unsafe { &*ep.cast::<Provider>() };
    // SAFETY: the graph exists during the call.
    provider.host.answer(|| unsafe { provider.take(graph, info) })
}

unsafe extern "system" fn compile(
    ep: *mut OrtEp,
    graphs: *const *const OrtGraph,
    fused_nodes: *const *const OrtNode,
    count: usize,
    compute_infos: *mut *mut OrtNodeComputeInfo,
    _ep_context_nodes: *mut *mut OrtNode,
) -> *mut OrtStatus {
    // SAFETY: as for `get_capability`.
    let provider = unsafe { &*ep.cast::<Provider>() };
    provider.host.answer(|| {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the arrays have `count` entries each, and room for `count` results. These are only written if all
        // succeed.
        unsafe {
            let (graphs, nodes) = (slice::from_raw_parts(graphs, count), slice::from_raw_parts(fused_nodes, count));
            let infos = provider.compile(graphs, nodes)?;
            for (index, info) in infos.into_iter().enumerate() {
                compute_infos.add(index).write(info.into_raw());
            }
        }
        Ok(())
    })
}

unsafe extern "system" fn release_node_compute_infos(
    _ep: *mut OrtEp,
    infos: *mut *mut OrtNodeComputeInfo,
    count: usize,
) {
    for index in 0..count {
        // SAFETY: the runtime passes each result of `compile` once.
        unsafe { ComputeInfo::release(*infos.add(index)) };
    }
}
