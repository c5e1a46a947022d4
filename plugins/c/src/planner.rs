//! The planner on its own: buffers in, offsets out. It needs neither a device nor a model.

use std::{
    ffi::c_void,
    ops::{ControlFlow, Range},
    time::Duration,
};

use texpool_rust::{
    Progress,
    plan::{ArenaPlan, ArenaPlanner, ArenaProof, Buffer, InputError, PlanError, SearchControl},
};

use crate::{
    arguments::{SizedStruct, read, values, values_mut, write},
    error::{Failure, texpool_error, texpool_status},
    guard::answer,
    progress::{Listener, stop, texpool_progress_fn},
};

/// Meaning of the offset in a texpool_plan_buffer.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_placement {
    /// The offset is ignored: the buffer may be placed anywhere.
    TEXPOOL_PLACEMENT_ANYWHERE = 0,
    /// The buffer must be placed at the offset.
    TEXPOOL_PLACEMENT_FIXED = 1,
    /// The offset comes from an earlier plan, and the new plan should stay close to it; the buffer may still be
    /// placed elsewhere.
    TEXPOOL_PLACEMENT_HINT = 2,
}

const FIXED: u32 = texpool_placement::TEXPOOL_PLACEMENT_FIXED as u32;
const HINT: u32 = texpool_placement::TEXPOOL_PLACEMENT_HINT as u32;

/// A range of bytes that is needed during a range of steps. Sizes may be in any unit, as long as all use the same.
/// This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_buffer {
    /// The first step that uses the buffer.
    pub first: u64,
    /// The last step that uses the buffer, inclusive.
    pub last: u64,
    /// Size of the buffer.
    pub bytes: u64,
    /// The offset will be a multiple of this; 0 means 1.
    pub alignment: u64,
    /// The offset that placement refers to.
    pub offset: u64,
    /// Meaning of offset: a texpool_placement.
    pub placement: u32,
}

/// Steps within the live range of a buffer at which only part of the buffer is needed. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_gap {
    /// Index of the buffer.
    pub buffer: usize,
    /// The first step of the gap.
    pub first: u64,
    /// The last step of the gap, inclusive.
    pub last: u64,
    /// Start of the bytes that are still needed during the gap, relative to the start of the buffer.
    pub window_begin: u64,
    /// One past the last byte that is still needed. Equal to window_begin if the whole contents may be lost.
    pub window_end: u64,
}

/// Two buffers that may overlap because one is computed in place of the other. The last step of one must be the first
/// step of the other; at that step they may overlap if they start at the same offset, but need not. This struct does
/// not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_pair {
    /// Index of the buffer that is overwritten.
    pub before: usize,
    /// Index of the buffer that is computed.
    pub after: usize,
}

/// Buffers to place and limits of the search. Set all bytes to zero, then struct_size and the fields you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_descriptor {
    /// sizeof(texpool_plan_descriptor).
    pub struct_size: usize,
    /// The buffers.
    pub buffers: *const texpool_plan_buffer,
    /// Number of buffers.
    pub buffer_count: usize,
    /// Gaps in the live ranges of the buffers, in any order.
    pub gaps: *const texpool_plan_gap,
    /// Number of gaps.
    pub gap_count: usize,
    /// Pairs that may be computed in place.
    pub in_place: *const texpool_plan_pair,
    /// Number of in-place pairs.
    pub in_place_count: usize,
    /// Sufficient size. The search ends as soon as a plan fits into it, or once it is proven that no plan fits. 0
    /// means to search for the smallest plan.
    pub capacity: u64,
    /// Time limit in seconds, after which the search ends with the best plan found; 0 for no limit. Without a limit,
    /// and without a callback that ends the search, the same buffers get the same plan on every machine.
    pub deadline: f64,
    /// Search effort, in placements of a buffer; 0 for 1,048,576, which takes a second or less.
    pub effort: u64,
    /// Receives the progress of the search; or NULL.
    pub progress: texpool_progress_fn,
    /// Passed to the callback.
    pub user_data: *mut c_void,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are valid pointers and numbers that request nothing.
unsafe impl SizedStruct for texpool_plan_descriptor {
    const NAME: &'static str = "texpool_plan_descriptor";
}

/// Evidence that a plan is the smallest possible.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_proof {
    /// Not proven: a smaller plan may exist.
    TEXPOOL_PROOF_NONE = 0,
    /// Buffers that are needed at the same step, or the end of a buffer with a fixed offset, already require this
    /// size.
    TEXPOOL_PROOF_WIDEST_STEP = 1,
    /// An exhaustive search ruled out all smaller plans.
    TEXPOOL_PROOF_SEARCH = 2,
}

/// Result of fitting the buffers into a capacity.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_fit {
    /// Unknown.
    TEXPOOL_FIT_UNDECIDED = 0,
    /// They fit, with the offsets of this plan.
    TEXPOOL_FIT_YES = 1,
    /// Proven not to fit, for any offsets.
    TEXPOOL_FIT_NO = 2,
}

/// Result of the planner.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_result {
    /// sizeof(texpool_plan_result), set by the caller.
    pub struct_size: usize,
    /// Size of the arena: one past the last byte in use.
    pub peak: u64,
    /// Lower bound on the size of any plan.
    pub lower_bound: u64,
    /// A texpool_proof. The plan is proven to be the smallest unless this is TEXPOOL_PROOF_NONE.
    pub proof: u32,
    /// Result of fitting the buffers into the capacity: a texpool_fit. TEXPOOL_FIT_UNDECIDED if no capacity was
    /// given.
    pub fit: u32,
    /// Reason why the search ended early, if it did: a texpool_stop.
    pub stopped: u32,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are valid numbers.
unsafe impl SizedStruct for texpool_plan_result {
    const NAME: &'static str = "texpool_plan_result";
}

/// Places buffers in the smallest possible arena that the search finds. Writes the offset of each buffer, in the
/// order of the buffers, to offsets; offset_count must equal buffer_count. The plan is verified by code that is
/// independent of the search. May be called from any thread at any time; uses a single thread.
///
/// Errors: BUFFERS if the buffers are inconsistent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_plan(
    descriptor: *const texpool_plan_descriptor,
    offsets: *mut u64,
    offset_count: usize,
    result: *mut texpool_plan_result,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe {
        let descriptor = read(descriptor)?;
        let &texpool_plan_descriptor { buffer_count, capacity, .. } = &descriptor;
        if offset_count != buffer_count {
            return Err(Failure::argument(format!("offset_count is {offset_count}, not {buffer_count}")));
        }
        let room = values_mut(offsets, offset_count, "offsets")?;
        write(result, |size| {
            let plan = plan(&descriptor)?;
            room.copy_from_slice(&plan.offsets);
            Ok(texpool_plan_result::new(size, &plan, capacity))
        })
    })
}

impl texpool_plan_result {
    fn new(struct_size: usize, plan: &ArenaPlan, capacity: u64) -> Self {
        let proof = match plan.proof {
            ArenaProof::WidestStep => texpool_proof::TEXPOOL_PROOF_WIDEST_STEP,
            ArenaProof::Search => texpool_proof::TEXPOOL_PROOF_SEARCH,
            _ => texpool_proof::TEXPOOL_PROOF_NONE,
        };
        let fit = match plan.fits(capacity) {
            _ if capacity == 0 => texpool_fit::TEXPOOL_FIT_UNDECIDED,
            Some(true) => texpool_fit::TEXPOOL_FIT_YES,
            Some(false) => texpool_fit::TEXPOOL_FIT_NO,
            None => texpool_fit::TEXPOOL_FIT_UNDECIDED,
        };
        Self {
            struct_size,
            peak: plan.total,
            lower_bound: plan.bound,
            proof: proof as u32,
            fit: fit as u32,
            stopped: stop(plan.stopped) as u32,
        }
    }
}

/// # Safety
/// All pointers of the descriptor satisfy the header's requirements.
unsafe fn plan(descriptor: &texpool_plan_descriptor) -> Result<ArenaPlan, Failure> {
    let mut planner = ArenaPlanner::from_iter(
        // SAFETY: as the caller of this function promises.
        unsafe { buffers(descriptor) }?,
    );
    // SAFETY: as the caller of this function promises.
    let pairs = unsafe { values(descriptor.in_place, descriptor.in_place_count, "in_place") }?;
    for pair in pairs {
        let (before, after) = (pair.before, pair.after);
        match (planner.id(before), planner.id(after)) {
            (Some(before), Some(after)) => planner.in_place(before, after),
            _ => return Err(PlanError::from(InputError::BadInPlace { before, after }).into()),
        }
    }
    let &texpool_plan_descriptor { capacity, deadline, effort, progress, user_data, .. } = descriptor;
    if capacity > 0 {
        planner = planner.capacity(capacity);
    }
    if effort > 0 {
        planner = planner.effort(effort);
    }
    let listener = Listener::new(progress, user_data);
    let mut callback = move |progress: Progress| -> ControlFlow<()> { listener.tell(progress) };
    let mut control = SearchControl::new();
    if progress.is_some() {
        control = control.progress(&mut callback);
    }
    if deadline != 0.0 {
        let wrong = |_| Failure::argument(format!("deadline is {deadline}, which is no number of seconds"));
        control = control.timeout(Duration::try_from_secs_f64(deadline).map_err(wrong)?);
    }
    Ok(planner.plan_until(&control)?)
}

/// # Safety
/// All pointers of the descriptor satisfy the header's requirements.
unsafe fn buffers(descriptor: &texpool_plan_descriptor) -> Result<Vec<Buffer>, Failure> {
    // SAFETY: as the caller of this function promises.
    let (descriptors, gaps) = unsafe {
        (
            values(descriptor.buffers, descriptor.buffer_count, "buffers")?,
            values(descriptor.gaps, descriptor.gap_count, "gaps")?,
        )
    };
    let mut buffers = Vec::with_capacity(descriptors.len());
    for (index, buffer) in descriptors.iter().enumerate() {
        let &texpool_plan_buffer { first, last, bytes, alignment, offset, placement } = buffer;
        let what = format!("buffers[{index}]");
        let aligned = Buffer::new(steps(first, last, &what)?, bytes).aligned(alignment.max(1));
        buffers.push(match placement {
            0 => aligned,
            FIXED => aligned.fixed(offset),
            HINT => aligned.hinted(offset),
            other => return Err(Failure::argument(format!("{what}: {other} is no texpool_placement"))),
        });
    }
    for (index, gap) in gaps.iter().enumerate() {
        let &texpool_plan_gap { buffer, first, last, window_begin, window_end } = gap;
        let what = format!("gaps[{index}]");
        let steps = steps(first, last, &what)?;
        let of = buffers.get_mut(buffer).ok_or_else(|| wrong(&what, &format!("there is no buffer {buffer}")))?;
        let with = match window_begin == window_end {
            true => of.clone().gap(steps),
            false => of.clone().gap_within(steps, window_begin..window_end),
        };
        *of = with;
    }
    Ok(buffers)
}

/// Converts inclusive step numbers into a half-open range.
fn steps(first: u64, last: u64, what: &str) -> Result<Range<usize>, Failure> {
    let number = |step: u64| usize::try_from(step).ok().filter(|&step| step < usize::MAX);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..last + 1),
        (Some(_), Some(_)) => Err(wrong(what, &format!("its last step {last} is before its first {first}"))),
        _ => Err(wrong(what, "no step has such a number")),
    }
}

fn wrong(what: &str, why: &str) -> Failure {
    Failure::new(texpool_status::TEXPOOL_ERROR_BUFFERS, format!("{what}: {why}"))
}
