//! The timeline of a call as Chrome's trace events, a JSON that Perfetto opens. Spans of the host come from `tracing`,
//! and dispatches of the device from its timestamps.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, ThreadId},
    time::Instant,
};
use texpool_gpu::DispatchTime;
use tracing::{
    Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

/// Number of the host's tracks; those of the device have another.
const HOST: u32 = 1;
/// Number of the device's track.
const DEVICE: u32 = 2;

static TIMELINE: OnceLock<Timeline> = OnceLock::new();

/// Events since the beginning of the call.
struct Timeline {
    begun: Instant,
    happened: Mutex<Happened>,
}

#[derive(Default)]
struct Happened {
    events: Vec<Event>,
    /// The threads that have spans. Their positions are the numbers of their tracks.
    threads: Vec<ThreadId>,
}

/// A complete event: something with a beginning and an end.
#[derive(Serialize)]
struct Event {
    name: String,
    ph: char,
    /// Microseconds since the beginning of the call.
    ts: f64,
    dur: f64,
    pid: u32,
    tid: usize,
    args: Map<String, Value>,
}

impl Timeline {
    fn happened(&self) -> MutexGuard<'_, Happened> {
        self.happened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the microseconds from the beginning of the call.
    fn us(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.begun).as_secs_f64() * 1e6
    }
}

/// Starts the timeline, and returns the layer that records the spans of texpool's crates.
pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    TIMELINE.get_or_init(|| Timeline { begun: Instant::now(), happened: Mutex::default() });
    SpanLayer.with_filter(Targets::new().with_target("texpool", Level::DEBUG))
}

/// Returns whether the call is recorded.
pub(super) fn is_on() -> bool {
    TIMELINE.get().is_some()
}

/// Records spans from their creation to their end.
struct SpanLayer;

/// A span that has not ended.
struct OpenSpan {
    begun: Instant,
    fields: Fields,
}

/// Values of a span's fields.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(OpenSpan { begun: Instant::now(), fields });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = |span: SpanRef<'_, S>| Some((span.name(), span.extensions_mut().remove::<OpenSpan>()?));
        let (Some((name, open)), Some(timeline)) = (context.span(&id).and_then(open), TIMELINE.get()) else { return };
        let (ts, end) = (timeline.us(open.begun), timeline.us(Instant::now()));
        let mut happened = timeline.happened();
        let thread = thread::current().id();
        let tid = happened.threads.iter().position(|&known| known == thread).unwrap_or(happened.threads.len());
        if tid == happened.threads.len() {
            happened.threads.push(thread);
        }
        let (name, args) = (name.to_owned(), open.fields.0);
        happened.events.push(Event { name, ph: 'X', ts, dur: end - ts, pid: HOST, tid, args });
    }
}

/// Adds the dispatches of a run that ended at `ended`. The device's clock has another zero, so the last dispatch is put
/// at that end. `name` returns the operator of a step, and the tensor that it writes.
pub(super) fn add_dispatches<'a>(
    dispatches: &[DispatchTime],
    ended: Instant,
    name: impl Fn(usize) -> Option<(&'a str, &'a str)>,
) {
    let Some(timeline) = TIMELINE.get() else { return };
    let last = dispatches.iter().map(|time| time.begin_ms + time.ms).fold(0.0, f64::max);
    let zero = timeline.us(ended) - last * 1e3;
    let event = |time: &DispatchTime| {
        let mut args = Map::new();
        args.insert("kernel".to_owned(), time.kernel.into());
        let named = time.step.and_then(|step| Some((step, name(step)?)));
        let name = named.map_or(time.kernel, |(step, (operator, tensor))| {
            args.insert("step".to_owned(), step.into());
            args.insert("tensor".to_owned(), tensor.into());
            operator
        });
        let (ts, dur) = (zero + time.begin_ms * 1e3, time.ms * 1e3);
        Event { name: name.to_owned(), ph: 'X', ts, dur, pid: DEVICE, tid: 0, args }
    };
    timeline.happened().events.extend(dispatches.iter().map(event));
}

/// Returns the timeline so far as Chrome's JSON, and the number of its events.
pub(super) fn json(device: &str) -> serde_json::Result<(Vec<u8>, usize)> {
    /// The form of the file.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Trace<'a> {
        display_time_unit: &'a str,
        trace_events: Vec<Value>,
    }

    let name =
        |pid: u32, name: &str| json!({ "name": "process_name", "ph": "M", "pid": pid, "args": { "name": name } });
    let mut trace_events = vec![name(HOST, "texpool"), name(DEVICE, device)];
    let names = trace_events.len();
    if let Some(timeline) = TIMELINE.get() {
        for event in &timeline.happened().events {
            trace_events.push(serde_json::to_value(event)?);
        }
    }
    let events = trace_events.len() - names;
    Ok((serde_json::to_vec(&Trace { display_time_unit: "ms", trace_events })?, events))
}
