// Tables: what is live at the chosen step, and all steps.

/** Rows of the table of live tensors that are made at first. */
const LIVE_ROWS = 200;

/** Orders of the table of live tensors. */
const LIVE_COLUMNS = [
  { key: "name", title: "Tensor", text: entry => entry.name, order: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }) },
  { key: "bytes", title: "Bytes live", number: true, text: entry => grouped(entry.bytes), order: (a, b) => b.bytes - a.bytes },
  { key: "share", title: "Share", number: true, text: (entry, live) => share(entry.bytes, live), order: (a, b) => b.bytes - a.bytes },
  { key: "texture", title: "Texture", number: true, text: entry => String(entry.texture), order: (a, b) => a.texture - b.texture || b.bytes - a.bytes },
  { key: "life", title: "Steps held", number: true, text: entry => grouped(entry.last - entry.first + 1), order: (a, b) => (b.last - b.first) - (a.last - a.first) || b.bytes - a.bytes },
  { key: "from", title: "From", number: true, text: entry => grouped(entry.first), order: (a, b) => a.first - b.first },
  { key: "to", title: "To", number: true, text: entry => grouped(entry.last), order: (a, b) => b.last - a.last },
];

const liveOrder = { key: "bytes", reversed: false, all: false };

function renderLive() {
  const { plan, step } = state;
  const live = liveAt(plan, step);
  const bytes = live.reduce((sum, entry) => sum + entry.bytes, 0);
  const waste = plan.bytes - bytes;
  byId("live-title").textContent = `Live at step ${grouped(step)}: ${count(live.length, "tensor")}, ${grouped(bytes)} bytes`;
  const rounding = plan.bytes - plan.texels * plan.texelBytes;
  byId("meter").replaceChildren(
    element("span", { class: "meter-live", style: `width:${100 * bytes / Math.max(plan.bytes, 1)}%` }),
  );
  const sentence = `${grouped(plan.bytes)} bytes allocated − ${grouped(bytes)} live = ${grouped(waste)} unused (${share(waste, plan.bytes)})`;
  byId("meter").setAttribute("aria-label", sentence);
  byId("meter").append(element("span", { class: "meter-text" }, sentence));
  const { operator, target, span } = describe(plan.schedule, step);
  const ms = stepMs(plan, step);
  byId("live-step").textContent = `This step: ${operator} → ${target}${span && `, ${span}`}${ms === null ? "" : `, ${milliseconds(ms)}`}${rounding > 0 ? `; ${grouped(rounding)} bytes round up textures` : ""}`;

  const column = LIVE_COLUMNS.find(other => other.key === liveOrder.key);
  live.sort(column.order);
  if (liveOrder.reversed) live.reverse();
  const shown = liveOrder.all ? live : live.slice(0, LIVE_ROWS);
  const head = element("thead", {}, element("tr", {}, ...LIVE_COLUMNS.map(other => {
    const sorted = other.key === column.key;
    const press = () => {
      liveOrder.reversed = sorted && !liveOrder.reversed;
      liveOrder.key = other.key;
      renderLive();
      byId("live-table").querySelector(`[data-key=${other.key}]`).focus();
    };
    const direction = sorted ? (liveOrder.reversed ? " ▴" : " ▾") : "";
    return element("th", { scope: "col", class: other.number && "number", "aria-sort": sorted ? (liveOrder.reversed ? "ascending" : "descending") : undefined },
      element("button", { type: "button", "data-key": other.key, onclick: press }, other.title + direction));
  })));
  const row = entry => element("tr", { "data-record": entry.record, class: entry.record === state.record && "selected" },
    ...LIVE_COLUMNS.map((other, i) => i === 0
      ? element("th", { scope: "row" }, swatch(entry.record), element("button", { type: "button", class: "link", title: entry.name, onclick: () => selectRecord(entry.record) }, entry.name))
      : element("td", { class: other.number && "number" }, other.text(entry, bytes))));
  const body = element("tbody", {}, ...shown.map(row));
  const more = live.length - shown.length;
  if (more > 0) {
    body.append(element("tr", {}, element("td", { colspan: LIVE_COLUMNS.length },
      element("button", { type: "button", onclick: () => { liveOrder.all = true; renderLive(); } }, `show ${grouped(more)} more`))));
  }
  byId("live-table").replaceChildren(element("caption", { class: "hidden" }, `Tensors live at step ${step}`), head, body);
}

function swatch(record) {
  return element("span", { class: "swatch", style: `background:${css(rgb(record, isDark()))}`, "aria-hidden": "true" });
}

/** Milliseconds of a step, if the shown plan is the one that was measured. */
function stepMs(plan, step) {
  const times = stepTimes(plan);
  return times === null ? null : times[step] / 1e6;
}

let times;
function stepTimes(plan) {
  if (plan.index !== data.shown || data.measured?.step_ns === undefined) return null;
  times ??= readColumn(data.measured.step_ns);
  return times;
}

// All steps: only the rows in sight are elements, whatever their number.

const ROW = 24;

class StepTable {
  constructor() {
    this.byTime = false;
    this.onlySelected = false;
    this.list = element("div", { class: "steps-rows", role: "rowgroup" });
    this.head = element("div", { role: "row", class: "steps-head" });
    this.box = element("div", { class: "steps", role: "table", "aria-label": "Steps", tabindex: "0" }, this.head, this.list);
    this.box.addEventListener("scroll", () => this.render());
    const tick = (name, label) => element("label", { class: "check" },
      element("input", { type: "checkbox", onchange: event => { this[name] = event.target.checked; this.refresh(); } }), label);
    this.sortByTime = tick("byTime", "slowest first");
    this.note = element("p", { class: "quiet" });
    this.element = element("div", { class: "panel-body" },
      element("div", { class: "steps-tools" }, tick("onlySelected", "only those of the selected tensor"), this.sortByTime), this.note, this.box);
  }

  /** Chooses and sorts the steps. */
  refresh() {
    const { plan } = state;
    const times = stepTimes(plan);
    this.sortByTime.hidden = times === null;
    let steps = Array.from({ length: plan.schedule.count }, (_, i) => i);
    if (this.onlySelected && (state.record >= 0 || state.tensor >= 0)) {
      const touched = stepsOfSelection();
      steps = steps.filter(step => touched.has(step));
    }
    if (times !== null && this.byTime) steps.sort((a, b) => times[b] - times[a]);
    this.steps = steps;
    this.touched = stepsOfSelection();
    const titles = ["Step", "Operator", "Tensor and rows", "Live bytes", ...(times === null ? [] : ["Time", "Share"])];
    this.head.replaceChildren(...titles.map(title => element("span", { role: "columnheader" }, title)));
    this.element.classList.toggle("timed", times !== null);
    this.total = times === null ? 0 : times.reduce((sum, ns) => sum + ns, 0);
    this.note.textContent = times === null ? `${count(steps.length, "step")}` : `${count(steps.length, "step")}; ${milliseconds(this.total / 1e6)} in all, the median of ${count(data.measured.profiled_runs, "run")} on ${data.measured.adapter}, without uploads and downloads`;
    this.list.style.height = `${steps.length * ROW}px`;
    this.box.setAttribute("aria-rowcount", steps.length);
    this.render(true);
  }

  /** Scrolls to the chosen step. */
  follow() {
    const at = this.steps.indexOf(state.step);
    // The head of the table covers the height of a row.
    if (at >= 0 && (at * ROW < this.box.scrollTop || (at + 2) * ROW > this.box.scrollTop + this.box.clientHeight)) {
      this.box.scrollTop = at * ROW - this.box.clientHeight / 2;
    }
    this.render(true);
  }

  render(again = false) {
    if (this.box.clientHeight === 0) return;
    const from = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const to = Math.min(this.steps.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    if (!again && this.from === from && this.to === to) return;
    [this.from, this.to] = [from, to];
    this.list.replaceChildren(...this.steps.slice(from, to).map((step, i) => this.row(step, from + i)));
  }

  row(step, at) {
    const { plan } = state;
    const { operator, target, span } = describe(plan.schedule, step);
    const times = stepTimes(plan);
    const cells = [grouped(step), operator, `${target} ${span}`, grouped(plan.live[step] * plan.texelBytes)];
    if (times !== null) cells.push(milliseconds(times[step] / 1e6), share(times[step], this.total));
    const classes = ["steps-row", step === state.step && "now", this.touched.has(step) && "touched"].filter(Boolean).join(" ");
    const tensor = plan.schedule.tensor[step] - 1;
    const choose = () => {
      showStep(step);
      if (tensor >= 0) selectTensor(tensor);
    };
    return element("div", { role: "row", class: classes, style: `top:${at * ROW}px`, "aria-rowindex": at + 1, onclick: choose },
      ...cells.map((text, i) => element("span", { role: "cell", title: i === 2 ? text : undefined }, text)));
  }
}

/** The steps that touch the selected tensor. */
function stepsOfSelection() {
  const { schedule } = state.plan;
  const touched = new Set();
  if (state.record >= 0) {
    for (const uses of [schedule.reads, schedule.writes]) {
      for (let step = 0; step < schedule.count; step++) {
        for (let use = uses.start[step]; use < uses.start[step + 1]; use++) if (uses.record[use] === state.record) touched.add(step);
      }
    }
  } else if (state.tensor >= 0) {
    for (const [index, node] of schedule.graph.nodes.entries()) {
      if (node.output === state.tensor || node.inputs.includes(state.tensor)) schedule.stepsOfNode[index].forEach(step => touched.add(step));
    }
  }
  return touched;
}
