//! The planner alone: buffers in, offsets out. It needs no device and no model.

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

/// What an offset in a texpool_plan_buffer is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_placement {
    /// Nothing: the buffer may lie anywhere.
    TEXPOOL_PLACEMENT_ANYWHERE = 0,
    /// Where it has to lie.
    TEXPOOL_PLACEMENT_FIXED = 1,
    /// Where it lay in an earlier plan, from which little should change; it may lie elsewhere.
    TEXPOOL_PLACEMENT_HINT = 2,
}

const FIXED: u32 = texpool_placement::TEXPOOL_PLACEMENT_FIXED as u32;
const HINT: u32 = texpool_placement::TEXPOOL_PLACEMENT_HINT as u32;

/// A range of bytes that is needed for a range of steps. Sizes may be in any other unit, too. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_buffer {
    /// The first step that uses it.
    pub first: u64,
    /// The last step that uses it; it is needed at that one, too.
    pub last: u64,
    /// Its size.
    pub bytes: u64,
    /// Its offset is a multiple of this; 0 is as 1.
    pub alignment: u64,
    /// What placement says.
    pub offset: u64,
    /// What offset is: a texpool_placement.
    pub placement: u32,
}

/// Steps within a buffer's life at which it takes less than all of its bytes. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_gap {
    /// Index of the buffer.
    pub buffer: usize,
    /// The first of the steps.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// The first of the bytes that it takes meanwhile, counted from its start.
    pub window_begin: u64,
    /// One past the last of these bytes; equal to window_begin where it takes none, and what was in them is lost.
    pub window_end: u64,
}

/// Two buffers of which one may be computed in the place of the other: at the step that is the last of one and the first of
/// the other they may overlap if both begin at the same offset. They need not. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_pair {
    /// Index of the buffer that is there before.
    pub before: usize,
    /// Index of the buffer that is computed.
    pub after: usize,
}

/// What is to be placed, and how long to search. Set all bytes to zero, then struct_size and what is wanted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_descriptor {
    /// sizeof(texpool_plan_descriptor).
    pub struct_size: usize,
    /// The buffers.
    pub buffers: *const texpool_plan_buffer,
    /// How many there are.
    pub buffer_count: usize,
    /// Gaps in their lives, in any order.
    pub gaps: *const texpool_plan_gap,
    /// How many there are.
    pub gap_count: usize,
    /// Pairs that may be computed in place.
    pub in_place: *const texpool_plan_pair,
    /// How many there are.
    pub in_place_count: usize,
    /// A size that is enough: the search ends at the first plan within it, or once it is known that there is none. 0 for the
    /// smallest that is found.
    pub capacity: u64,
    /// Seconds after which the search ends with the best plan so far; 0 for none. Without one, and without a callback that
    /// ends it, the same buffers get the same plan on every machine.
    pub deadline: f64,
    /// How much is searched, in placements of a buffer; 0 for 1,048,576, which is a second or less.
    pub effort: u64,
    /// Told how far the search is; or NULL.
    pub progress: texpool_progress_fn,
    /// Handed to it.
    pub user_data: *mut c_void,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are pointers and numbers that ask for nothing.
unsafe impl SizedStruct for texpool_plan_descriptor {
    const NAME: &'static str = "texpool_plan_descriptor";
}

/// How it is known that no plan is smaller.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_proof {
    /// It is not known: a smaller plan may exist.
    TEXPOOL_PROOF_NONE = 0,
    /// So much is needed at one step, or up to the end of a buffer whose place is given.
    TEXPOOL_PROOF_WIDEST_STEP = 1,
    /// A search has ruled out everything smaller.
    TEXPOOL_PROOF_SEARCH = 2,
}

/// Whether buffers fit into a capacity.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_fit {
    /// It is not known.
    TEXPOOL_FIT_UNDECIDED = 0,
    /// They do, as they are placed.
    TEXPOOL_FIT_YES = 1,
    /// They do not, in whatever way they are placed.
    TEXPOOL_FIT_NO = 2,
}

/// What is known of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_plan_result {
    /// sizeof(texpool_plan_result), set by the caller.
    pub struct_size: usize,
    /// The size of the arena: one past the last byte in use.
    pub peak: u64,
    /// No plan is smaller than this.
    pub lower_bound: u64,
    /// Whether no plan is smaller, and how that is known: a texpool_proof. The plan is proven the smallest where this is not
    /// TEXPOOL_PROOF_NONE.
    pub proof: u32,
    /// Whether the buffers fit into the capacity: a texpool_fit. TEXPOOL_FIT_UNDECIDED where no capacity was given.
    pub fit: u32,
    /// What ended the search before its end: a texpool_stop.
    pub stopped: u32,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are numbers.
unsafe impl SizedStruct for texpool_plan_result {
    const NAME: &'static str = "texpool_plan_result";
}

/// Places buffers in one arena, as small as it can. offsets gets the offset of each buffer, in their order, and there must
/// be room for offset_count of them, which is buffer_count. The plan was checked by code that shares nothing with the
/// search. Any thread may call it at any time; it takes one thread.
///
/// Errors: BUFFERS where they contradict themselves or each other.
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
/// Each pointer of the descriptor is as the header says.
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
    let mut told = move |progress: Progress| -> ControlFlow<()> { listener.tell(progress) };
    let mut control = SearchControl::new();
    if progress.is_some() {
        control = control.progress(&mut told);
    }
    if deadline != 0.0 {
        let wrong = |_| Failure::argument(format!("deadline is {deadline}, which is no number of seconds"));
        control = control.timeout(Duration::try_from_secs_f64(deadline).map_err(wrong)?);
    }
    Ok(planner.plan_until(&control)?)
}

/// # Safety
/// Each pointer of the descriptor is as the header says.
unsafe fn buffers(descriptor: &texpool_plan_descriptor) -> Result<Vec<Buffer>, Failure> {
    // SAFETY: as the caller of this function promises.
    let (given, gaps) = unsafe {
        (
            values(descriptor.buffers, descriptor.buffer_count, "buffers")?,
            values(descriptor.gaps, descriptor.gap_count, "gaps")?,
        )
    };
    let mut buffers = Vec::with_capacity(given.len());
    for (index, buffer) in given.iter().enumerate() {
        let &texpool_plan_buffer { first, last, bytes, alignment, offset, placement } = buffer;
        let what = format!("buffers[{index}]");
        let made = Buffer::new(steps(first, last, &what)?, bytes).aligned(alignment.max(1));
        buffers.push(match placement {
            0 => made,
            FIXED => made.fixed(offset),
            HINT => made.hinted(offset),
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

/// Steps from the first to the last, which is one of them.
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
