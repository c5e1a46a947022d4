//! The runtime, as far as a delegate calls it: every pointer is looked at before it is followed.

use std::{
    ffi::{CStr, CString},
    ptr, slice,
};

use crate::abi::{
    IntArray, OwnedIntArray, TfLiteContext, TfLiteDelegate, TfLiteDelegateParams, TfLiteNode, TfLiteRegistration,
    TfLiteStatus, TfLiteTensor, allocation,
};

/// Most bytes of a text that are handed over at once: Python's reporter cuts texts at 1024.
const REPORTED_BYTES: usize = 900;

/// A graph of the runtime, for as long as a callback of the runtime's takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    context: *mut TfLiteContext,
}

/// What the runtime makes one kernel of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Nodes, by their number in the graph.
    pub(crate) nodes: Vec<i32>,
    /// Tensors that come from outside, constants among them.
    pub(crate) inputs: Vec<i32>,
    /// Tensors that others read, or that the graph gives.
    pub(crate) outputs: Vec<i32>,
}

/// Bytes of structs as the runtime has them; none where it has too few to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) tensor: Option<usize>,
    pub(crate) node: Option<usize>,
    pub(crate) registration: Option<usize>,
}

impl Host {
    /// # Safety
    /// The pointer is NULL, or to a context that is there as long as this.
    pub(crate) unsafe fn new(context: *mut TfLiteContext) -> Result<Self, String> {
        if context.is_null() || !context.is_aligned() {
            return Err("the runtime gives no context".to_owned());
        }
        Ok(Self { context })
    }

    fn raw(&self) -> &TfLiteContext {
        // SAFETY: it was looked at, and is there. The runtime changes fields only while it is called.
        unsafe { &*self.context }
    }

    /// Which context it is, to tell graphs apart.
    pub(crate) fn address(self) -> usize {
        self.context.addr()
    }

    /// Nodes that will run, in their order.
    pub(crate) fn execution_plan(&self) -> Result<Vec<i32>, String> {
        let call = self.raw().get_execution_plan.ok_or_else(|| missing("GetExecutionPlan"))?;
        let mut plan = ptr::null();
        // SAFETY: the runtime offers it to be called so.
        ended("GetExecutionPlan", unsafe { call(self.context, &mut plan) })?;
        // SAFETY: the list is the runtime's, and stays until it is asked again.
        Ok(unsafe { IntArray::numbers(plan) }.to_vec())
    }

    /// A node and what runs it.
    pub(crate) fn node(&self, index: i32) -> Result<(&TfLiteNode, &TfLiteRegistration), String> {
        let call = self.raw().get_node_and_registration.ok_or_else(|| missing("GetNodeAndRegistration"))?;
        let (mut node, mut registration) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the runtime offers it to be called so.
        ended("GetNodeAndRegistration", unsafe { call(self.context, index, &mut node, &mut registration) })?;
        // SAFETY: both are NULL or the runtime's, which changes them only while it is called.
        let found = unsafe { node.as_ref().zip(registration.as_ref()) };
        found.ok_or_else(|| format!("the runtime has no node {index}"))
    }

    /// A tensor; none of a number that is none's.
    pub(crate) fn tensor(&self, index: i32) -> Option<&TfLiteTensor> {
        let pointer = self.tensor_pointer(index)?;
        // SAFETY: the runtime has as many tensors there, and changes them only while it is called.
        Some(unsafe { &*pointer })
    }

    /// Whether a tensor's memory is taken while the graph runs.
    pub(crate) fn is_dynamic(&self, index: i32) -> bool {
        self.tensor(index).is_some_and(|tensor| tensor.allocation_type == allocation::DYNAMIC)
    }

    fn tensor_pointer(&self, index: i32) -> Option<*mut TfLiteTensor> {
        let (index, raw) = (usize::try_from(index).ok()?, self.raw());
        // SAFETY: the runtime has as many tensors there.
        (index < raw.tensors_size && !raw.tensors.is_null()).then(|| unsafe { raw.tensors.add(index) })
    }

    /// Gives a tensor other extents; where its memory is the delegate's to ask for, it gets that, too.
    pub(crate) fn resize(&self, index: i32, dims: &[i32]) -> Result<(), String> {
        let call = self.raw().resize_tensor_explicit.ok_or_else(|| missing("ResizeTensorExplicit"))?;
        let tensor = self.tensor_pointer(index).ok_or_else(|| format!("the runtime has no tensor {index}"))?;
        let rank = i32::try_from(dims.len()).map_err(|_| "a tensor has too many extents".to_owned())?;
        // SAFETY: the runtime offers it to be called so, and copies the extents.
        ended("ResizeTensorExplicit", unsafe { call(self.context, tensor, rank, dims.as_ptr()) })
    }

    /// The kernels that the runtime would make of these nodes.
    pub(crate) fn preview(&self, nodes: &[i32]) -> Result<Vec<Partition>, String> {
        let call = self.raw().preview_delegate_partitioning.ok_or_else(|| missing("PreviewDelegatePartitioning"))?;
        let list = OwnedIntArray::new(nodes).ok_or_else(|| "too many nodes".to_owned())?;
        let (mut params, mut count) = (ptr::null_mut::<TfLiteDelegateParams>(), 0);
        // SAFETY: the runtime offers it to be called so.
        let status = unsafe { call(self.context, list.as_ptr(), &mut params, &mut count) };
        ended("PreviewDelegatePartitioning", status)?;
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || params.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the runtime has made as many, which stay until it is asked again.
        Ok(unsafe { slice::from_raw_parts(params, count).iter().map(|params| partition(params)).collect() })
    }

    /// Has the runtime put kernels in the place of nodes.
    ///
    /// # Safety
    /// The delegate is the one whose callback this is.
    pub(crate) unsafe fn replace(
        &self,
        registration: TfLiteRegistration,
        nodes: &[i32],
        delegate: *mut TfLiteDelegate,
    ) -> Result<(), String> {
        let call = self.raw().replace_node_subsets.ok_or_else(|| missing("ReplaceNodeSubsetsWithDelegateKernels"))?;
        let list = OwnedIntArray::new(nodes).ok_or_else(|| "too many nodes".to_owned())?;
        // SAFETY: the runtime offers it to be called so, and copies the list.
        let status = unsafe { call(self.context, registration, list.as_ptr(), delegate) };
        ended("ReplaceNodeSubsetsWithDelegateKernels", status)
    }

    /// Tells the runtime what went wrong, in its own log.
    pub(crate) fn report(&self, text: &str) {
        let Some(call) = self.raw().report_error else { return };
        for piece in pieces(text, REPORTED_BYTES) {
            // A text for C has no zeros but that at its end.
            let piece = CString::new(piece.replace('\0', "\u{fffd}")).unwrap_or_default();
            // SAFETY: the runtime offers it to be called so: a format, and what it asks for.
            unsafe { call(self.context, c"%s".as_ptr(), piece.as_ptr()) };
        }
    }

    /// Looks whether the runtime's structs are those here: by what stands in each tensor, and by how far a node is from
    /// what runs it and from the next.
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
            // Nodes lie one behind the other, each with what runs it.
            if let Some(next) = index.checked_add(1).filter(|next| plan.contains(next)) {
                let (next, _) = self.node(next)?;
                let pair = ptr::from_ref(next).addr().wrapping_sub(ptr::from_ref(node).addr());
                layout.registration = Some(pair.wrapping_sub(distance));
            }
        }
        let here = size_of::<TfLiteNode>();
        match layout.node.filter(|&found| found != here) {
            Some(found) => {
                Err(format!("this runtime's TfLiteNode has {found} bytes, not {here}: it is not known here"))
            }
            None => Ok(layout),
        }
    }
}

/// Tells the runtime of this context what went wrong.
pub(crate) fn report(context: *mut TfLiteContext, reason: &str) {
    // SAFETY: the pointer is NULL, or to the runtime's context.
    if let Ok(host) = unsafe { Host::new(context) } {
        host.report(&format!("texpool: {reason}\n"));
    }
}

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
/// Each list is NULL or one.
pub(crate) unsafe fn partition(params: &TfLiteDelegateParams) -> Partition {
    // SAFETY: as the caller of this function promises.
    let [nodes, inputs, outputs] = [params.nodes_to_replace, params.input_tensors, params.output_tensors]
        .map(|list| unsafe { IntArray::numbers(list) }.to_vec());
    Partition { nodes, inputs, outputs }
}

/// A text in pieces that end where lines do, if they can.
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

/// A text of the runtime's; nothing of NULL. What is not UTF-8 is replaced.
///
/// # Safety
/// The pointer is NULL or to a text.
pub(crate) unsafe fn text(pointer: *const std::ffi::c_char) -> String {
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
