// Files for other programs, made in the page.

function save(name, type, contents) {
  const url = URL.createObjectURL(contents instanceof Blob ? contents : new Blob([contents], { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function fileName(ending) {
  const plain = `${data.model}-${state.plan.name}`.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 120);
  return `${plain}${ending}`;
}

/** Events of Chrome's trace format, which Perfetto reads: a slice for each step, counters of live and unused bytes. Uploads
 * and downloads have a track of their own, because they have no times and Perfetto would nest them in the next step. */
function traceJson(plan) {
  const times = stepTimes(plan);
  const events = [
    { ph: "M", pid: 1, name: "process_name", args: { name: `${data.model}: ${plan.name}` } },
    { ph: "M", pid: 1, tid: 1, name: "thread_name", args: { name: times === null ? "steps, a microsecond each" : "steps" } },
    { ph: "M", pid: 1, tid: 2, name: "thread_name", args: { name: "uploads and downloads" } },
  ];
  const bytes = (ts, live) => events.push({ ph: "C", pid: 1, ts, name: "pool bytes", args: { live, unused: plan.bytes - live } });
  let now = 0;
  for (let step = 0; step < plan.schedule.count; step++) {
    const { operator, target, span } = describe(plan.schedule, step);
    const dur = times === null ? 1 : times[step] / 1e3;
    const live = plan.live[step] * plan.texelBytes;
    const tid = plan.schedule.kind[step] < 2 ? 1 : 2;
    events.push({ ph: "X", pid: 1, tid, ts: now, dur, name: operator, cat: "step", args: { step, tensor: target, rows: span, live_bytes: live } });
    bytes(now, live);
    now += dur;
  }
  // Ends the counters with the last step.
  bytes(now, 0);
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ns" });
}

/** Model Explorer's node data of one graph: for each node by the name of its result, the live bytes or the milliseconds. */
function nodeDataJson(plan) {
  const times = stepTimes(plan);
  const { schedule } = plan;
  const results = {};
  for (const [index, node] of schedule.graph.nodes.entries()) {
    const steps = schedule.stepsOfNode[index];
    if (steps.length === 0) continue;
    const value = times === null
      ? steps.reduce((most, step) => Math.max(most, plan.live[step] * plan.texelBytes), 0)
      : steps.reduce((sum, step) => sum + times[step] / 1e6, 0);
    results[schedule.graph.tensors[node.output].name] = { value };
  }
  const gradient = [{ stop: 0, bgColor: "#eef4fb" }, { stop: 1, bgColor: "#d9534f" }];
  const name = `${data.model}: ${times === null ? "live bytes" : "milliseconds"}, ${plan.name}`;
  return JSON.stringify({ name, results, gradient }, null, 1);
}

/** The map as SVG: the part that is shown, a path for each tensor. */
function mapSvg(plan) {
  const [width, height, top, left] = [1000, 420, 34, 10];
  const { x0, x1, y0, y1 } = state.view;
  const [perStep, perByte] = [width / (x1 - x0), height / (y1 - y0)];
  const paths = new Map();
  for (let i = 0; i < plan.count; i++) {
    const [low, high] = [plan.address[i] * plan.texelBytes, (plan.address[i] + plan.texels_of[i]) * plan.texelBytes];
    if (plan.first[i] >= x1 || plan.last[i] + 1 <= x0 || low >= y1 || high <= y0) continue;
    const [a, b] = [Math.max(plan.first[i], x0), Math.min(plan.last[i] + 1, x1)].map(step => left + (step - x0) * perStep);
    const [c, d] = [Math.min(high, y1), Math.max(low, y0)].map(byte => top + (y1 - byte) * perByte);
    const path = `M${a.toFixed(2)} ${c.toFixed(2)}H${b.toFixed(2)}V${d.toFixed(2)}H${a.toFixed(2)}z`;
    paths.set(plan.record[i], (paths.get(plan.record[i]) ?? "") + path);
  }
  const drawn = [...paths].map(([record, path]) =>
    `<path d="${path}" fill="${css(rgb(record, false))}" stroke="#444" stroke-width="0.3"><title>${escaped(plan.schedule.records.name[record])}</title></path>`);
  const frames = plan.textures.map(({ base, texels }) => {
    const [high, low] = [Math.min((base + texels) * plan.texelBytes, y1), Math.max(base * plan.texelBytes, y0)];
    return high > low ? `<rect x="${left}" y="${(top + (y1 - high) * perByte).toFixed(2)}" width="${width}" height="${((high - low) * perByte).toFixed(2)}" fill="#eceff3" stroke="#888"/>` : "";
  });
  const bound = plan.live[plan.widest] * plan.texelBytes;
  const y = top + (y1 - bound) * perByte;
  const line = bound <= y1 && bound >= y0
    ? `<path d="M${left} ${y.toFixed(2)}h${width}" stroke="#c4281c" stroke-dasharray="6 4"/><text x="${left + 4}" y="${(y - 4).toFixed(2)}" fill="#c4281c">widest step: ${grouped(bound)} bytes</text>` : "";
  const title = escaped(`${data.model}: ${plan.name}, ${grouped(plan.bytes)} bytes, steps ${Math.floor(x0)} to ${Math.ceil(x1) - 1}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width + 2 * left} ${height + top + 10}" font-family="system-ui, sans-serif" font-size="12">
<title>${title}</title><rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="20">${title}</text>
${frames.join("\n")}
${drawn.join("\n")}
${line}
</svg>
`;
}

function savePng() {
  draw();
  map.toBlob(picture => picture !== null && save(fileName(".png"), "image/png", picture), "image/png");
}

const EXPORTS = [
  ["SVG", "the part of the map that is shown", () => save(fileName(".svg"), "image/svg+xml", mapSvg(state.plan))],
  ["PNG", "the map as it is on the screen", savePng],
  ["Trace", "steps and live bytes, for Perfetto (ui.perfetto.dev) and chrome://tracing", () => save(fileName(".trace.json"), "application/json", traceJson(state.plan))],
  ["Node data", "a number for each node, for Model Explorer", () => save(fileName(".node-data.json"), "application/json", nodeDataJson(state.plan))],
];
