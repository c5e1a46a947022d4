// Reads the data: columns are unpacked when their plan is shown for the first time.

const data = JSON.parse(byId("data").textContent);

/** Unpacks a column: differences, zigzag-coded in groups of seven bits, in base64. */
function readColumn(text) {
  const bytes = atob(text);
  const numbers = [];
  let last = 0;
  let at = 0;
  while (at < bytes.length) {
    // Factors instead of shifts, because shifts stop at 32 bits.
    let rest = 0;
    let factor = 1;
    let byte;
    do {
      byte = bytes.charCodeAt(at++);
      rest += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte >= 0x80);
    last += rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
    numbers.push(last);
  }
  return Float64Array.from(numbers);
}

/** Index of the first entry of each step, and one past the last. */
function starts(counts) {
  const made = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) made[i + 1] = made[i] + counts[i];
  return made;
}

function readUses(uses) {
  const columns = Object.fromEntries(Object.entries(uses).map(([name, text]) => [name, readColumn(text)]));
  return { start: starts(columns.of_step), record: columns.record, row: columns.first_row, rows: columns.rows };
}

const schedules = [];

/** A schedule: steps, and the tensors of its pool by the number of their record. */
function scheduleOf(index) {
  schedules[index] ??= readSchedule(index);
  return schedules[index];
}

function readSchedule(index) {
  const { graph: graphIndex, steps, records, cascades = [], cascade_of_node, record_of_tensor } = data.schedules[index];
  const graph = data.graphs[graphIndex];
  const tensor = readColumn(records.tensor);
  const node = readColumn(records.node);
  const name = Array.from(tensor, (t, record) =>
    t > 0 ? graph.tensors[t - 1].name : `weights of ${graph.tensors[graph.nodes[node[record] - 1].output].name}`);
  const made = {
    index, graph, graphIndex, cascades,
    count: steps.count,
    node: readColumn(steps.node),
    kind: readColumn(steps.kind),
    tensor: readColumn(steps.tensor),
    row: readColumn(steps.first_row),
    rows: readColumn(steps.rows),
    reads: readUses(steps.reads),
    writes: readUses(steps.writes),
    records: {
      count: records.count, name, tensor, node,
      rows: readColumn(records.rows),
      rowTexels: readColumn(records.row_texels),
    },
    recordOfTensor: readColumn(record_of_tensor),
    cascadeOfNode: cascade_of_node === undefined ? null : readColumn(cascade_of_node),
  };
  made.stepsOfNode = Array.from(graph.nodes, () => []);
  for (let step = 0; step < made.count; step++) {
    if (made.kind[step] < 2) made.stepsOfNode[made.node[step]].push(step);
  }
  return made;
}

const KINDS = ["", "border of ", "upload ", "download "];

/** What a step does: its operator, the tensor that it writes or transfers, and the rows. */
function describe(schedule, step) {
  const { graph } = schedule;
  // A model of views alone has no steps.
  if (step >= schedule.count) return { operator: "nothing", target: "no step", span: "" };
  const node = graph.nodes[schedule.node[step]];
  const kind = schedule.kind[step];
  const tensor = schedule.tensor[step];
  const target = tensor > 0 ? graph.tensors[tensor - 1].name : `weights of ${graph.tensors[node.output].name}`;
  const operator = kind < 2 ? KINDS[kind] + node.op : KINDS[kind].trim();
  const rows = schedule.rows[step];
  const all = tensor > 0 && schedule.recordOfTensor[tensor - 1] > 0
    ? schedule.records.rows[schedule.recordOfTensor[tensor - 1] - 1] : rows;
  const [from, to] = [schedule.row[step], schedule.row[step] + rows - 1];
  const span = rows === 0 || rows >= all ? "" : rows === 1 ? `row ${from}` : `rows ${from}–${to}`;
  return { operator, target, span };
}

const plans = [];

/** A plan: blocks of rows with their texture, address, size and life; textures; live texels at each step. */
function planOf(index) {
  plans[index] ??= readPlan(index);
  return plans[index];
}

function readPlan(index) {
  const plan = data.plans[index];
  const schedule = scheduleOf(plan.schedule);
  const { rowTexels } = schedule.records;
  const texture = readColumn(plan.texture);
  const record = readColumn(plan.blocks.record);
  const rows = readColumn(plan.blocks.rows);
  const first = readColumn(plan.blocks.first);
  const more = readColumn(plan.blocks.more);
  const textures = [];
  let base = 0;
  for (const [width, height, texels] of plan.textures) {
    textures.push({ width, height, texels, base, bytes: texels * plan.texel_bytes });
    base += texels;
  }
  const made = {
    index, schedule, textures,
    name: plan.name,
    group: plan.group,
    problem: plan.problem,
    notes: plan.notes ?? [],
    beside: plan.beside ?? [],
    predictedMs: plan.predicted_ms,
    texelBytes: plan.texel_bytes,
    bytes: plan.bytes,
    texels: base,
    steps: Math.max(schedule.count, 1),
    count: record.length,
    textureOfRecord: texture,
    record, rows, first,
    row: readColumn(plan.blocks.first_row),
    texel: readColumn(plan.blocks.texel),
    last: first.map((step, i) => step + more[i]),
    texels_of: rows.map((n, i) => n * rowTexels[record[i]]),
    address: new Float64Array(record.length),
  };
  for (let i = 0; i < made.count; i++) made.address[i] = textures[texture[record[i]]].base + made.texel[i];
  made.live = liveTexels(made);
  made.widest = made.live.indexOf(made.live.reduce((a, b) => Math.max(a, b), 0));
  made.naive = schedule.records.rows.reduce((sum, n, r) => sum + n * rowTexels[r], 0) * plan.texel_bytes;
  made.firstOf = new Float64Array(schedule.records.count).fill(Infinity);
  made.lastOf = new Float64Array(schedule.records.count).fill(-1);
  for (let i = 0; i < made.count; i++) {
    made.firstOf[record[i]] = Math.min(made.firstOf[record[i]], first[i]);
    made.lastOf[record[i]] = Math.max(made.lastOf[record[i]], made.last[i]);
  }
  return made;
}

/** Texels of the rows that are live at each step. */
function liveTexels({ steps, count, first, last, texels_of }) {
  const live = new Float64Array(steps + 1);
  for (let i = 0; i < count; i++) {
    live[first[i]] += texels_of[i];
    live[last[i] + 1] -= texels_of[i];
  }
  for (let step = 1; step < steps; step++) live[step] += live[step - 1];
  return live.subarray(0, steps);
}

/** The tensors that are live at a step, largest first: bytes and rows now, and from when until when. */
function liveAt(plan, step) {
  const found = new Map();
  for (let i = 0; i < plan.count; i++) {
    if (plan.first[i] > step || plan.last[i] < step) continue;
    const record = plan.record[i];
    let entry = found.get(record);
    if (entry === undefined) {
      entry = { record, bytes: 0, rows: 0, since: Infinity, until: -1 };
      found.set(record, entry);
    }
    entry.bytes += plan.texels_of[i] * plan.texelBytes;
    entry.rows += plan.rows[i];
    entry.since = Math.min(entry.since, plan.first[i]);
    entry.until = Math.max(entry.until, plan.last[i]);
  }
  for (const entry of found.values()) {
    entry.name = plan.schedule.records.name[entry.record];
    entry.texture = plan.textureOfRecord[entry.record];
    entry.first = plan.firstOf[entry.record];
    entry.last = plan.lastOf[entry.record];
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes || a.record - b.record);
}

/** Bytes of the pool, and of the device beside it if asked for. */
function totalBytes(plan, device) {
  return plan.bytes + (device ? plan.beside.reduce((sum, [, bytes]) => sum + bytes, 0) : 0);
}
