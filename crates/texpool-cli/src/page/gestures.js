// Mouse, touch and keys on the map and on the strip above it.

/** Pixels that a press may move and still be a click. */
const SLACK = 4;

const pointers = new Map();
let press = null;

function place(event) {
  const box = map.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

map.addEventListener("wheel", event => {
  event.preventDefault();
  const { x, y } = place(event);
  // A wheel that counts in lines turns about three of them at once.
  const unit = event.deltaMode === 0 ? 1 : 33;
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  if (Math.abs(dx) > Math.abs(dy) && !event.shiftKey) pan(dx / map.clientWidth, 0);
  else zoom(Math.exp((dy || dx) * 0.0022), x / map.clientWidth, 1 - y / map.clientHeight, [!event.altKey, !event.shiftKey]);
}, { passive: false });

map.addEventListener("pointerdown", event => {
  if (event.button !== 0) return;
  map.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, place(event));
  press = pointers.size === 1 ? { ...place(event), moved: false } : null;
  hideTip();
});

map.addEventListener("pointermove", event => {
  const now = place(event);
  const before = pointers.get(event.pointerId);
  if (before === undefined) return hover(now);
  const [width, height] = [map.clientWidth, map.clientHeight];
  if (pointers.size === 2) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    const distance = (a, b) => Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1);
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    zoom(distance(before, other) / distance(now, other), middle.x / width, 1 - middle.y / height);
    pan((before.x - now.x) / 2 / width, (now.y - before.y) / 2 / height);
  } else if (press !== null && (press.moved || Math.hypot(now.x - press.x, now.y - press.y) > SLACK)) {
    press.moved = true;
    map.classList.add("moving");
    pan((before.x - now.x) / width, (now.y - before.y) / height);
  } else return;
  pointers.set(event.pointerId, now);
});

function lift(event) {
  pointers.delete(event.pointerId);
  map.classList.remove("moving");
  if (event.type === "pointerup" && press !== null && !press.moved) {
    const { step, block } = under(press.x, press.y);
    showStep(step);
    if (block < 0) selectRecord(-1);
    else selectRecord(state.plan.record[block]);
  }
  press = null;
}
map.addEventListener("pointerup", lift);
map.addEventListener("pointercancel", lift);
map.addEventListener("pointerleave", hideTip);
map.addEventListener("dblclick", event => {
  const { x, y } = place(event);
  zoom(0.4, x / map.clientWidth, 1 - y / map.clientHeight);
});

function hideTip() {
  tip.hidden = true;
}

/** Shows the tensor under the pointer. */
function hover({ x, y }) {
  const { plan } = state;
  const { step, byte, block } = under(x, y);
  const { operator, target } = describe(plan.schedule, step);
  const lines = [`step ${grouped(step)}: ${operator} → ${target}`];
  if (block >= 0) {
    const record = plan.record[block];
    const rows = plan.rows[block] === plan.schedule.records.rows[record] ? "all rows" : blockText(plan, block).split(" of ")[0];
    lines.unshift(plan.schedule.records.name[record]);
    lines.push(`${rows}, ${grouped(plan.texels_of[block] * plan.texelBytes)} bytes, live from step ${grouped(plan.first[block])} to ${grouped(plan.last[block])}`);
  } else if (byte < plan.bytes) lines.unshift("unused at this step");
  else lines.unshift(state.device ? "beside the pool" : "above the pool");
  tip.replaceChildren(...lines.map((line, i) => element(i === 0 ? "b" : "span", {}, line)));
  tip.hidden = false;
  const [width, top] = [tip.offsetWidth, map.offsetTop + y + 16];
  tip.style.left = `${Math.max(0, Math.min(x + 14, map.clientWidth - width))}px`;
  tip.style.top = `${top + tip.offsetHeight > stage.clientHeight ? map.offsetTop + y - tip.offsetHeight - 8 : top}px`;
}

/** On the strip, a press centres the map there and chooses the step. */
function strip(event) {
  const box = profile.getBoundingClientRect();
  const step = (event.clientX - box.left) / box.width * state.plan.steps;
  const { x0, x1, y0, y1 } = state.view;
  const half = (x1 - x0) / 2;
  setView({ x0: step - half, x1: step + half, y0, y1 });
  showStep(Math.floor(step));
}
profile.addEventListener("pointerdown", event => {
  profile.setPointerCapture(event.pointerId);
  strip(event);
});
profile.addEventListener("pointermove", event => event.buttons > 0 && strip(event));

/** Chooses the next tensor of those that are live, largest first. */
function chooseLive(by) {
  const live = liveAt(state.plan, state.step);
  if (live.length === 0) return;
  const at = live.findIndex(entry => entry.record === state.record);
  selectRecord(live[at < 0 ? 0 : Math.max(0, Math.min(live.length - 1, at + by))].record);
}

const MAP_KEYS = {
  ArrowLeft: event => showStep(state.step - stride(event)),
  ArrowRight: event => showStep(state.step + stride(event)),
  ArrowDown: () => chooseLive(1),
  ArrowUp: () => chooseLive(-1),
  Home: () => showStep(0),
  End: () => showStep(state.plan.steps - 1),
};

/** Keys that work everywhere but in fields. */
const KEYS = {
  "+": () => zoom(0.7),
  "=": () => zoom(0.7),
  "-": () => zoom(1 / 0.7),
  0: () => fit(),
  a: () => pan(-0.2, 0),
  d: () => pan(0.2, 0),
  w: () => pan(0, 0.2),
  s: () => pan(0, -0.2),
  p: () => showStep(state.plan.widest),
  "[": () => showPlan((state.plan.index + data.plans.length - 1) % data.plans.length),
  "]": () => showPlan((state.plan.index + 1) % data.plans.length),
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
  Escape: () => selectRecord(-1),
};

function stride(event) {
  return event.shiftKey ? Math.max(1, Math.round(state.plan.steps / 100)) : 1;
}

map.addEventListener("keydown", event => {
  const act = MAP_KEYS[event.key];
  if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act(event);
});

document.addEventListener("keydown", event => {
  const field = event.target.closest("input:not([type=range]):not([type=checkbox]), select, dialog, textarea");
  if (field !== null || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act === undefined) return;
  event.preventDefault();
  act(event);
});
