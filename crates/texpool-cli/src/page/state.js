// What is shown: the plan, the step, the selected tensor, and the part of the map. Whoever shows something listens.

const state = {
  /** The shown plan. */
  plan: null,
  /** The chosen step. */
  step: 0,
  /** The selected tensor: its index in the graph, or -1, and its record in the pool, or -1. */
  tensor: -1,
  record: -1,
  /** Whether all plans have one scale, and whether the memory beside the pool is drawn. */
  oneScale: false,
  device: false,
  /** The part of the map: steps, and bytes from the bottom. */
  view: { x0: 0, x1: 1, y0: 0, y1: 1 },
};

/** Listeners for changes of the plan, the step, the selection, and the view. */
const listeners = { plan: [], step: [], selection: [], view: [] };

function on(what, listener) {
  listeners[what].push(listener);
}

function changed(what) {
  listeners[what].forEach(listener => listener());
}

/** The bytes that the map is high. */
function fullHeight() {
  if (!state.oneScale) return Math.max(totalBytes(state.plan, state.device), 1);
  const total = plan => plan.bytes + (state.device ? (plan.beside ?? []).reduce((sum, [, bytes]) => sum + bytes, 0) : 0);
  return data.plans.reduce((most, plan) => Math.max(most, total(plan)), 1);
}

function showPlan(index) {
  const before = state.plan;
  const kept = before === null ? null : selectedName();
  const part = before === null ? 0 : state.step / before.steps;
  state.plan = planOf(index);
  const same = before !== null && before.schedule === state.plan.schedule;
  if (!same) {
    state.step = before === null ? state.plan.widest : Math.min(Math.round(part * state.plan.steps), state.plan.steps - 1);
    [state.tensor, state.record] = [-1, -1];
    if (kept !== null) selectByName(kept, false);
  }
  fit(same ? { x0: state.view.x0, x1: state.view.x1 } : {});
  changed("plan");
  changed("step");
  changed("selection");
}

function showStep(step) {
  state.step = Math.max(0, Math.min(state.plan.steps - 1, Math.round(step)));
  reveal(state.step);
  changed("step");
}

/** Moves the view so that a step is in it. */
function reveal(step) {
  const { x0, x1, y0, y1 } = state.view;
  const width = x1 - x0;
  if (step < x0) setView({ x0: step, x1: step + width, y0, y1 });
  else if (step + 1 > x1) setView({ x0: step + 1 - width, x1: step + 1, y0, y1 });
}

/** Shows everything, but for what `part` says. */
function fit(part = {}) {
  setView({ x0: 0, x1: state.plan.steps, y0: 0, y1: fullHeight(), ...part });
}

/** Changes the view, kept within the map and above a sensible least extent. */
function setView({ x0, x1, y0, y1 }) {
  const within = (low, high, most, least) => {
    const extent = Math.max(Math.min(high - low, most), Math.min(least, most));
    const from = Math.max(0, Math.min(low, most - extent));
    return [from, from + extent];
  };
  const [a, b] = within(x0, x1, state.plan.steps, 4);
  const [c, d] = within(y0, y1, fullHeight(), 16 * state.plan.texelBytes);
  state.view = { x0: a, x1: b, y0: c, y1: d };
  changed("view");
}

/** Zooms by a factor around a point, given as parts of the map's width and height. */
function zoom(factor, atX = 0.5, atY = 0.5, [time, address] = [true, true]) {
  const { x0, x1, y0, y1 } = state.view;
  const scaled = (low, high, at, by) => [low + at * (high - low) * (1 - by), high - (1 - at) * (high - low) * (1 - by)];
  const [a, b] = scaled(x0, x1, atX, time ? factor : 1);
  const [c, d] = scaled(y0, y1, atY, address ? factor : 1);
  setView({ x0: a, x1: b, y0: c, y1: d });
}

/** Moves the view by parts of its width and height. */
function pan(byX, byY) {
  const { x0, x1, y0, y1 } = state.view;
  const [dx, dy] = [byX * (x1 - x0), byY * (y1 - y0)];
  setView({ x0: x0 + dx, x1: x1 + dx, y0: y0 + dy, y1: y1 + dy });
}

/** Selects a record of the pool; -1 selects nothing. */
function selectRecord(record) {
  state.record = record;
  state.tensor = record < 0 ? -1 : state.plan.schedule.records.tensor[record] - 1;
  changed("selection");
}

/** Selects a tensor of the graph, and the record that holds it. */
function selectTensor(tensor) {
  state.tensor = tensor;
  state.record = state.plan.schedule.recordOfTensor[tensor] - 1;
  changed("selection");
}

/** The name of what is selected, by which it is found in other plans. */
function selectedName() {
  const { records, graph } = state.plan.schedule;
  if (state.tensor >= 0) return graph.tensors[state.tensor].name;
  return state.record >= 0 ? records.name[state.record] : null;
}

function selectByName(name, tell = true) {
  const { records, graph } = state.plan.schedule;
  const tensor = graph.tensors.findIndex(other => other.name === name && !other.constant);
  if (tensor >= 0) {
    state.tensor = tensor;
    state.record = state.plan.schedule.recordOfTensor[tensor] - 1;
  } else {
    state.record = records.name.indexOf(name);
    state.tensor = -1;
  }
  if (tell) changed("selection");
  return state.tensor >= 0 || state.record >= 0;
}
