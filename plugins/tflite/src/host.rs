//! The runtime's functions, as used by a delegate. Every pointer is checked before it is dereferenced.

use std::{
    ffi::{CStr, CString, c_char},
    mem, ptr, slice,
};

use crate::abi::{
    IntArray, OwnedIntArray, TfLiteContext, TfLiteDelegate, TfLiteDelegateParams, TfLiteNode, TfLiteRegistration,
    TfLiteStatus, TfLiteTensor, allocation,
};

/// Maximum length of a message that is reported at once, because Python's error reporter truncates messages at 1024
/// bytes.
const REPORTED_BYTES: usize = 900;

/// The runtime's function for errors.
type ReportError = unsafe extern "C" fn(*mut TfLiteContext, *const c_char, ...);

/// A graph of the runtime, valid during a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    context: *mut TfLiteContext,
}

/// A set of nodes that the runtime replaces by one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Indices of the nodes in the graph.
    pub(crate) nodes: Vec<i32>,
    /// Tensors that come from outside, including constants.
    pub(crate) inputs: Vec<i32>,
    /// Tensors that other nodes read, or that are outputs of the graph.
    pub(crate) outputs: Vec<i32>,
}

/// Sizes of the runtime's structs in bytes; `None` for those that could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) tensor: Option<usize>,
    pub(crate) node: Option<usize>,
    pub(crate) registration: Option<usize>,
}

impl Host {
    /// # Safety
    /// The pointer is NULL, or it points to a context that outlives this object.
    pub(crate) unsafe fn new(context: *mut TfLiteContext) -> Result<Self, String> {
        if context.is_null() || !context.is_aligned() {
            return Err("the runtime gives no context".to_owned());
        }
        Ok(Self { context })
    }

    fn raw(&self) -> &TfLiteContext {
        // SAFETY: the pointer was checked, and the context exists. The runtime only changes it during calls.
        unsafe { &*self.context }
    }

    /// Returns the address of the context, which identifies the graph.
    pub(crate) fn address(self) -> usize {
        self.context.addr()
    }

    /// Returns the nodes that will run, in execution order.
    pub(crate) fn execution_plan(&self) -> Result<Vec<i32>, String> {
        let call = self.raw().get_execution_plan.ok_or_else(|| missing("GetExecutionPlan"))?;
        let mut plan = ptr::null();
        // SAFETY: the function is called as the runtime declares it.
        ended("GetExecutionPlan", unsafe { call(self.context, &mut plan) })?;
        // SAFETY: the runtime owns the list, and keeps it until the next such call.
        Ok(unsafe { IntArray::numbers(plan) }.to_vec())
    }

    /// Returns a node and its registration.
    pub(crate) fn node(&self, index: i32) -> Result<(&TfLiteNode, &TfLiteRegistration), String> {
        let call = self.raw().get_node_and_registration.ok_or_else(|| missing("GetNodeAndRegistration"))?;
        let (mut node, mut registration) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the function is called as the runtime declares it.
        ended("GetNodeAndRegistration", unsafe { call(self.context, index, &mut node, &mut registration) })?;
        // SAFETY: both are NULL or owned by the runtime, which only changes them during calls.
        let pair = unsafe { node.as_ref().zip(registration.as_ref()) };
        pair.ok_or_else(|| format!("the runtime has no node {index}"))
    }

    /// Returns the tensor with this index, or `None` for an invalid index.
    pub(crate) fn tensor(&self, index: i32) -> Option<&TfLiteTensor> {
        let pointer = self.tensor_pointer(index)?;
        // SAFETY: the index was checked, and the runtime only changes tensors during calls.
        Some(unsafe { &*pointer })
    }

    /// Returns whether the tensor's memory is allocated while the graph runs.
    pub(crate) fn is_dynamic(&self, index: i32) -> bool {
        self.tensor(index).is_some_and(|tensor| tensor.allocation_type == allocation::DYNAMIC)
    }

    fn tensor_pointer(&self, index: i32) -> Option<*mut TfLiteTensor> {
        let (index, raw) = (usize::try_from(index).ok()?, self.raw());
        // SAFETY: the index is less than the number of tensors.
        (index < raw.tensors_size && !raw.tensors.is_null()).then(|| unsafe { raw.tensors.add(index) })
    }

    /// Resizes a tensor. If the delegate is responsible for its memory, this also allocates it.
    pub(crate) fn resize(&self, index: i32, dims: &[i32]) -> Result<(), String> {
        let call = self.raw().resize_tensor_explicit.ok_or_else(|| missing("ResizeTensorExplicit"))?;
        let tensor = self.tensor_pointer(index).ok_or_else(|| format!("the runtime has no tensor {index}"))?;
        let rank = i32::try_from(dims.len()).map_err(|_| "a tensor has too many extents".to_owned())?;
        // SAFETY: the function is called as the runtime declares it, and copies the extents.
        ended("ResizeTensorExplicit", unsafe { call(self.context, tensor, rank, dims.as_ptr()) })
    }

    /// Returns the kernels that the runtime would create for these nodes.
    pub(crate) fn preview(&self, nodes: &[i32]) -> Result<Vec<Partition>, String> {
        let call = self.raw().preview_delegate_partitioning.ok_or_else(|| missing("PreviewDelegatePartitioning"))?;
        let list = OwnedIntArray::new(nodes).ok_or_else(|| "too many nodes".to_owned())?;
        let (mut params, mut count) = (ptr::null_mut::<TfLiteDelegateParams>(), 0);
        // SAFETY: the function is called as the runtime declares it.
        let status = unsafe { call(self.context, list.as_ptr(), &mut params, &mut count) };
        ended("PreviewDelegatePartitioning", status)?;
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || params.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the runtime has created `count` entries, and keeps them until the next such call.
        Ok(unsafe { slice::from_raw_parts(params, count).iter().map(|params| partition(params)).collect() })
    }

    /// Calls a function with the graph of this index. Returns `None` if the model has none.
    pub(crate) fn with_graph<T>(&self, index: i32, call: impl FnOnce(Self) -> T) -> Result<Option<T>, String> {
        let acquire = self.raw().acquire_subgraph_context.ok_or_else(|| missing("AcquireSubgraphContext"))?;
        let release = self.raw().release_subgraph_context.ok_or_else(|| missing("ReleaseSubgraphContext"))?;
        let mut other = ptr::null_mut();
        // SAFETY: the function is called as the runtime declares it.
        if self.quietly(|| unsafe { acquire(self.context, index, &mut other) }) != TfLiteStatus::OK {
            return Ok(None);
        }
        // SAFETY: the runtime has returned one of its contexts.
        let result = unsafe { Self::new(other) }.map(call);
        // SAFETY: as above; the context was acquired.
        ended("ReleaseSubgraphContext", unsafe { release(self.context, index) })?;
        result.map(Some)
    }

    /// Returns the number of nodes, also of those that delegates have replaced.
    pub(crate) fn node_count(&self) -> i32 {
        self.quietly(|| (0..i32::MAX).find(|&index| self.node(index).is_err()).unwrap_or(i32::MAX))
    }

    /// Calls a function without reports of errors. The runtime does not tell how many graphs and nodes there are, and
    /// reports an error for an index that is too large.
    fn quietly<T>(&self, call: impl FnOnce() -> T) -> T {
        /// Restores the function when it is dropped.
        struct Restored(*mut TfLiteContext, Option<ReportError>);
        impl Drop for Restored {
            fn drop(&mut self) {
                // SAFETY: the context exists, and the runtime does not access it meanwhile.
                unsafe { (*self.0).report_error = self.1 };
            }
        }
        let restored = Restored(self.context, self.raw().report_error);
        // SAFETY: a function that takes the first arguments may be called with more of them, which it ignores.
        let silent = unsafe { mem::transmute::<unsafe extern "C" fn(_, _), ReportError>(silent) };
        // SAFETY: the context exists, and this thread alone uses it.
        unsafe { (*self.context).report_error = Some(silent) };
        let result = call();
        drop(restored);
        result
    }

    /// Replaces nodes by kernels.
    ///
    /// # Safety
    /// The delegate is the one whose callback is running.
    pub(crate) unsafe fn replace(
        &self,
        registration: TfLiteRegistration,
        nodes: &[i32],
        delegate: *mut TfLiteDelegate,
    ) -> Result<(), String> {
        let call = self.raw().replace_node_subsets.ok_or_else(|| missing("ReplaceNodeSubsetsWithDelegateKernels"))?;
        let list = OwnedIntArray::new(nodes).ok_or_else(|| "too many nodes".to_owned())?;
        // SAFETY: the function is called as the runtime declares it, and copies the list.
        let status = unsafe { call(self.context, registration, list.as_ptr(), delegate) };
        ended("ReplaceNodeSubsetsWithDelegateKernels", status)
    }

    /// Reports an error to the runtime's log.
    pub(crate) fn report(&self, text: &str) {
        let Some(call) = self.raw().report_error else { return };
        for piece in pieces(text, REPORTED_BYTES) {
            // C strings cannot contain zeros.
            let piece = CString::new(piece.replace('\0', "\u{fffd}")).unwrap_or_default();
            // SAFETY: the function is called as the runtime declares it, with a format and its argument.
            unsafe { call(self.context, c"%s".as_ptr(), piece.as_ptr()) };
        }
    }

    /// Checks that the runtime's structs match the declarations here. Checks the contents of each tensor, the
    /// distance between a node and its registration, and the distance between adjacent nodes.
    pub(crate) fn layout(&self, plan: &[i32]) -> Result<Layout, String> {
        let mut layout = Layout::default();
        let tensors = self.raw().tensors_size;
        for index in 0..i32::try_from(tensors).unwrap_or(0) {
            if !self.tensor(index).is_some_and(TfLiteTensor::is_plausible) {
                return Err("this runtime's TfLiteTensor has another layout than is known here".to_owned());
            }
        }
        layout.tensor = (tensors > 1).then_some(size_of::<TfLiteTensor>());
        if let Some(&index) = plan.first() {
            let (node, registration) = self.node(index)?;
            let distance = ptr::from_ref(registration).addr().wrapping_sub(ptr::from_ref(node).addr());
            layout.node = Some(distance);
            // Nodes are stored in an array, each together with its registration.
            if let Some(next) = index.checked_add(1).filter(|next| plan.contains(next)) {
                let (next, _) = self.node(next)?;
                let pair = ptr::from_ref(next).addr().wrapping_sub(ptr::from_ref(node).addr());
                layout.registration = Some(pair.wrapping_sub(distance));
            }
        }
        let here = size_of::<TfLiteNode>();
        match layout.node.filter(|&distance| distance != here) {
            Some(distance) => {
                Err(format!("this runtime's TfLiteNode has {distance} bytes, not {here}: it is not known here"))
            }
            None => Ok(layout),
        }
    }
}

/// Reports an error to the runtime of this context.
pub(crate) fn report(context: *mut TfLiteContext, reason: &str) {
    // SAFETY: the pointer is NULL, or it points to the runtime's context.
    if let Ok(host) = unsafe { Host::new(context) } {
        host.report(&format!("texpool: {reason}\n"));
    }
}

unsafe extern "C" fn silent(_: *mut TfLiteContext, _: *const c_char) {}

fn missing(function: &str) -> String {
    format!("this runtime has no {function}")
}

fn ended(function: &str, status: TfLiteStatus) -> Result<(), String> {
    match status {
        TfLiteStatus::OK => Ok(()),
        TfLiteStatus(number) => Err(format!("the runtime's {function} ended with status {number}")),
    }
}

/// # Safety
/// Each list is NULL or valid.
pub(crate) unsafe fn partition(params: &TfLiteDelegateParams) -> Partition {
    // SAFETY: as the caller of this function promises.
    let [nodes, inputs, outputs] = [params.nodes_to_replace, params.input_tensors, params.output_tensors]
        .map(|list| unsafe { IntArray::numbers(list) }.to_vec());
    Partition { nodes, inputs, outputs }
}

/// Splits a text into pieces, at line breaks if possible.
fn pieces(text: &str, most: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > most {
        let border = (0..=most).rev().find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len());
        let end = rest[..border].rfind('\n').filter(|&end| end > 0).map_or(border, |end| end + 1);
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

/// Copies a string of the runtime. NULL gives an empty string, and invalid UTF-8 is replaced.
///
/// # Safety
/// The pointer is NULL, or it points to a string.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller of this function promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn long_texts_are_cut_at_ends_of_lines() {
        assert_eq!(pieces("ab\ncd\nef", 4), ["ab\n", "cd\n", "ef"]);
        assert_eq!(pieces("ööö", 3), ["ö", "ö", "ö"]);
        assert_eq!(pieces("abc", 3), ["abc"]);
    }
}
