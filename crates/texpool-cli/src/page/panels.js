// Panels beside the map: the selected tensor, plans, device, proof, and exports.

/** The selected tensor: its life, its place, the nodes around it, and the sources of its kernels. */
function renderDetail() {
  const box = byId("detail");
  const { plan, tensor, record } = state;
  box.hidden = tensor < 0 && record < 0;
  if (box.hidden) return box.replaceChildren();
  const { schedule } = plan;
  const { graph, records } = schedule;
  const name = selectedName();
  const facts = [];
  if (tensor >= 0) facts.push(["Shape", `[${graph.tensors[tensor].dims.join(", ")}]`]);
  if (record >= 0) {
    const bytes = records.rows[record] * records.rowTexels[record] * plan.texelBytes;
    facts.push(["Bytes", `${grouped(bytes)} in ${count(records.rows[record], "row")} of ${grouped(records.rowTexels[record] * plan.texelBytes)}`]);
    if (plan.lastOf[record] >= 0) {
      const held = plan.lastOf[record] - plan.firstOf[record] + 1;
      facts.push(["Life", `steps ${grouped(plan.firstOf[record])} to ${grouped(plan.lastOf[record])}, ${count(held, "step")} (${share(held, plan.steps)} of the run)`]);
      const peak = peakOf(plan, record);
      if (peak.bytes < bytes) facts.push(["Most at once", `${grouped(peak.bytes)} bytes, at step ${grouped(peak.step)}`]);
    }
    facts.push(["Place", `${plan.problem === "offsets" ? "the arena" : `texture ${plan.textureOfRecord[record]}`}${blocksOf(plan, record)}`]);
    if (tensor >= 0 && records.tensor[record] - 1 !== tensor) facts.push(["Inside", records.name[record]]);
  } else facts.push(["Place", "beside the pool, in a texture of its own, or computed by no step"]);
  const maker = tensor >= 0 ? graph.nodes.findIndex(node => node.output === tensor) : -1;
  const readers = tensor >= 0 ? graph.nodes.flatMap((node, index) => node.inputs.includes(tensor) ? [index] : []) : [];
  const link = index => {
    const node = graph.nodes[index];
    const press = () => {
      selectTensor(node.output);
      if (schedule.stepsOfNode[index].length > 0) showStep(schedule.stepsOfNode[index][0]);
    };
    return element("button", { type: "button", class: "link", onclick: press }, `${node.op} → ${graph.tensors[node.output].name}`);
  };
  const list = element("dl", { class: "facts" }, ...facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
  const row = (key, nodes) => list.append(element("dt", {}, key), element("dd", { class: "links" }, ...nodes));
  if (maker >= 0) row("Written by", [link(maker)]);
  else if (tensor >= 0) list.append(element("dt", {}, "Written by"), element("dd", {}, "the caller, as an input"));
  if (readers.length > 0) row("Read by", readers.map(link));
  box.replaceChildren(
    element("div", { class: "detail-head" },
      element("h2", {}, record >= 0 ? swatch(record) : null, name),
      element("button", { type: "button", "aria-label": "Select nothing", title: "Select nothing ( Esc )", onclick: () => selectRecord(-1) }, "×")),
    list);
  const node = maker >= 0 ? maker : record >= 0 ? records.node[record] - 1 : -1;
  if (node >= 0) box.append(...nodeFacts(graph, node));
}

/** The step at which most bytes of a record are live. */
function peakOf(plan, record) {
  const change = new Map();
  for (let i = 0; i < plan.count; i++) {
    if (plan.record[i] !== record) continue;
    change.set(plan.first[i], (change.get(plan.first[i]) ?? 0) + plan.texels_of[i]);
    change.set(plan.last[i] + 1, (change.get(plan.last[i] + 1) ?? 0) - plan.texels_of[i]);
  }
  let [now, most, at] = [0, 0, 0];
  for (const step of [...change.keys()].sort((a, b) => a - b)) {
    now += change.get(step);
    if (now > most) [most, at] = [now, step];
  }
  return { bytes: most * plan.texelBytes, step: at };
}

function blocksOf(plan, record) {
  let [number, offset] = [0, 0];
  for (let i = 0; i < plan.count; i++) {
    if (plan.record[i] !== record) continue;
    if (number === 0) offset = plan.texel[i] * plan.texelBytes;
    number += 1;
  }
  return number === 1 ? `, from byte ${grouped(offset)}` : `, in ${count(number, "run")} of rows`;
}

/** What is fused into a node, and its kernels with their sources. */
function nodeFacts(graph, index) {
  const node = graph.nodes[index];
  const made = [element("p", { class: "quiet" }, `Operator ${node.file} of the file, ${node.op}.${node.fused ? ` Fused into it: ${node.fused.join(", then ")}.` : ""}`)];
  for (const number of node.kernels ?? []) {
    const { kernel, constants, why, source } = data.kernels.pipelines[number];
    const chosen = constants.map(([name, value]) => `${name} = ${value}`).join(", ");
    const details = element("details", {}, element("summary", {}, `Kernel ${kernel}`, chosen ? element("span", { class: "quiet" }, ` specialised by ${chosen}`) : null));
    // The text is added when it is looked at, since it is long.
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(element("pre", { tabindex: "0" }, data.kernels.sources[source]));
    });
    made.push(element("p", { class: "why" }, why.join(" ")), details);
  }
  return made;
}

/** The plans of the page, with a bar each, on one scale. */
class PlansPanel {
  constructor() {
    this.element = element("div", { class: "panel-body" });
  }

  refresh() {
    const order = data.plans.map((plan, index) => ({ ...plan, index })).filter(plan => plan.group !== "front");
    order.sort((a, b) => (a.group === "strategy") - (b.group === "strategy") || a.bytes - b.bytes);
    const most = order.reduce((m, plan) => Math.max(m, plan.bytes), 1);
    const bar = (bytes, kind) => element("span", { class: `bar-box` }, element("span", { class: `bar-fill ${kind}`, style: `width:${100 * bytes / most}%` }));
    const row = plan => element("tr", { class: plan.index === state.plan.index && "selected" },
      element("th", { scope: "row" }, element("button", { type: "button", class: "link", onclick: () => showPlan(plan.index) }, plan.name)),
      element("td", {}, PROBLEMS[plan.problem]),
      element("td", { class: "number" }, grouped(plan.bytes)),
      element("td", { class: "wide" }, bar(plan.bytes, plan.group)));
    const rows = order.map(row);
    const { solution } = data;
    const notes = state.plan.notes.map(note => element("p", {}, note));
    if (solution !== undefined) {
      const texel = planOf(0).texelBytes;
      const bound = (name, texels) => element("tr", { class: "bound" }, element("th", { scope: "row" }, name), element("td", {}, "bound"),
        element("td", { class: "number" }, grouped(texels * texel)), element("td", { class: "wide" }, bar(texels * texel, "bound")));
      rows.push(bound("no plan of shared objects takes less", solution.bound), bound("no plan of whole tensors takes less", solution.offsets));
    }
    const missing = (data.not_tried ?? []).map(({ name, why }) => element("li", {}, `${name}: ${why}`));
    this.element.replaceChildren(
      element("h3", {}, `Shown: ${state.plan.name}`), ...notes,
      element("table", { class: "plans" },
        element("thead", {}, element("tr", {}, ...["Plan", "Kind", "Bytes of the pool", ""].map(title => element("th", { scope: "col" }, title)))),
        element("tbody", {}, ...rows)),
      ...(missing.length > 0 ? [element("p", {}, "Left out:"), element("ul", {}, ...missing)] : []),
      element("details", {}, element("summary", {}, "What the rewriter changed, and what it left"), element("pre", { tabindex: "0" }, data.rewriting)));
  }
}

const PROBLEMS = { shared_objects: "objects", offsets: "one arena", banks: "banks", rows: "rows in banks" };

/** The device's memory: planned, allocated, and held by the driver. */
class DevicePanel {
  constructor() {
    this.element = element("div", { class: "panel-body" });
  }

  refresh() {
    const { measured } = data;
    const { plan } = state;
    const cell = (text, number = true) => element("td", { class: number && "number" }, text);
    const table = (titles, rows) => element("table", {},
      element("thead", {}, element("tr", {}, ...titles.map(title => element("th", { scope: "col" }, title)))),
      element("tbody", {}, ...rows));
    const row = (name, ...cells) => element("tr", {}, element("th", { scope: "row" }, name), ...cells.map(text => cell(text)));
    const made = [];
    if (plan.beside.length > 0) {
      const rows = [["pool", plan.bytes], ...plan.beside];
      made.push(element("h3", {}, `Planned for ${plan.name}`),
        table(["Memory", "Bytes"], [...rows.map(([name, bytes]) => row(name, grouped(bytes))), row("together", grouped(totalBytes(plan, true)))]));
    } else made.push(element("p", {}, "Strategies are compared by their pools alone; plans that a run can use have the memory beside it, too."));
    if (measured === undefined) made.push(element("p", { class: "quiet" }, "No device was asked: texpool report --measure adds what it allocates, and the time of each step."));
    else {
      const { memory } = measured;
      const names = { pool: "pool", weights: "weights", io: "inputs and outputs beside the pool", tables: "tables of the dispatches", transfer: "transfer buffers", other: "other, with wgpu's own buffers" };
      const sum = parts => Object.keys(names).reduce((total, key) => total + parts[key], 0);
      const rows = Object.entries(names).map(([key, name]) => row(name, grouped(memory.planned[key]), grouped(memory[key])));
      rows.push(row("together", grouped(sum(memory.planned)), grouped(sum(memory))));
      for (const [key, name] of [["allocated_peak", "the most at a time, from loading on"], ["reserved", "blocks that the driver holds"], ["reserved_peak", "blocks that the driver held at most"]]) {
        if (memory[key] !== null) rows.push(row(name, "", grouped(memory[key])));
      }
      made.push(element("h3", {}, `${data.plans[data.shown].name} on ${measured.adapter}`),
        table(["Memory", "Planned", "Allocated"], rows),
        element("p", {}, `A run takes ${milliseconds(measured.wall_ms)}, the median of ${count(measured.runs, "run")}.${measured.profiled_runs > 0 ? " The table of steps has the time of each." : " The device has no timestamps, so steps have no times."}`));
    }
    this.element.replaceChildren(...made);
  }
}

/** The plan checked again, and the proof of the lower bound. */
class ProofPanel {
  constructor() {
    this.element = element("div", { class: "panel-body" });
    this.checked = new Map();
  }

  /** Checks a plan, once. */
  check(plan) {
    if (!this.checked.has(plan.index)) this.checked.set(plan.index, checkPlan(plan));
    return this.checked.get(plan.index);
  }

  refresh() {
    const { plan } = state;
    const line = ({ what, ok, fault, skipped }) => element("li", { class: ok ? "ok" : "fault" },
      element("span", { class: "mark", "aria-hidden": "true" }, ok ? "✓" : "✗"), `${what}${ok ? "" : ` It does not hold: ${fault}.`}${skipped ? ` (${skipped})` : ""}`);
    const checks = this.check(plan);
    const bad = checks.filter(check => !check.ok).length;
    const made = [
      element("h3", {}, bad === 0 ? `${plan.name}: checked here, sound` : `${plan.name}: ${count(bad, "rule")} broken`),
      element("p", { class: "quiet" }, "This page has checked the plan again, from its blocks and steps, with code that shares nothing with the planner's."),
      element("ul", { class: "checks" }, ...checks.map(line)),
    ];
    const bound = plan.live[plan.widest] * plan.texelBytes;
    made.push(element("p", {}, `The widest step, ${grouped(plan.widest)}, has ${grouped(bound)} live bytes: no plan of these steps takes less. This one takes ${grouped(plan.bytes)}, ${plan.bytes === bound ? "exactly that" : `${share(plan.bytes - bound, bound)} more`}; all tensors in buffers of their own take ${grouped(plan.naive)}.`));
    const { solution } = data;
    if (solution !== undefined && solution.schedule === plan.schedule.index) {
      this.proof ??= checkProof(planOf(0), solution);
      made.push(element("h3", {}, "The certificate of the lower bound"), element("ul", { class: "checks" }, line(this.proof)),
        element("p", {}, `Its proof has ${count(solution.cases.length, "case")}. Chosen: ${solution.reason} (sizes in texels of ${plan.texelBytes} bytes).`));
    }
    this.element.replaceChildren(...made);
  }
}

/** Buttons that write files. */
class ExportPanel {
  constructor() {
    const button = ([title, about, write]) => element("li", {}, element("button", { type: "button", onclick: write }, title), element("span", { class: "quiet" }, ` ${about}`));
    this.element = element("div", { class: "panel-body" },
      element("p", {}, "Files are made in this page and saved by the browser; nothing is sent."),
      element("ul", { class: "exports" }, ...EXPORTS.map(button)));
  }

  refresh() {}
}

/** The panels with their tabs: one is shown. */
const panels = {
  list: [],
  shown: 0,
  add(title, panel) {
    const number = this.list.length;
    panel.element.id = `panel-${number}`;
    panel.element.setAttribute("role", "tabpanel");
    panel.element.setAttribute("aria-labelledby", `tab-${number}`);
    const tab = element("button", { type: "button", role: "tab", id: `tab-${number}`, "aria-controls": panel.element.id, onclick: () => this.show(number) }, title);
    tab.addEventListener("keydown", event => {
      const to = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: this.list.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.show((to + this.list.length) % this.list.length);
      this.list[this.shown].tab.focus();
    });
    this.list.push({ tab, panel, title });
    byId("tabs").append(tab);
    byId("panels").append(panel.element);
  },
  show(number) {
    this.shown = number;
    for (const [index, { tab, panel }] of this.list.entries()) {
      tab.setAttribute("aria-selected", index === number);
      tab.setAttribute("tabindex", index === number ? "0" : "-1");
      panel.element.hidden = index !== number;
    }
    this.refresh();
  },
  refresh() {
    this.list[this.shown].panel.refresh();
  },
};
