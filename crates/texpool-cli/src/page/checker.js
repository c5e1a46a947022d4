// Checks a plan again, from its blocks and steps alone, as the checker of the planner does; and the proof of the lower
// bound. Plain JavaScript instead of the planner's checker compiled to WebAssembly: it shares no code with the planner, so
// that neither hides a fault of the other, and the command can be built without a second toolchain.

/** Checks a plan. Returns what was checked: a sentence each, with the first fault, if there is one. */
function checkPlan(plan) {
  return [
    checkSum(plan),
    checkInside(plan),
    checkOverlaps(plan),
    checkSteps(plan),
    ...(plan.problem === "offsets" ? [] : [checkTextures(plan)]),
  ];
}

function verdict(what, fault) {
  return { what, ok: fault === null, fault };
}

function checkSum(plan) {
  const sum = plan.textures.reduce((total, texture) => total + texture.bytes, 0);
  const fault = sum === plan.bytes ? null : `they add up to ${grouped(sum)}`;
  return verdict(`The ${count(plan.textures.length, "texture")} add up to the ${grouped(plan.bytes)} bytes of the plan.`, fault);
}

function blockText(plan, i) {
  const rows = plan.rows[i] === 1 ? `row ${plan.row[i]}` : `rows ${plan.row[i]} to ${plan.row[i] + plan.rows[i] - 1}`;
  return `${rows} of ${plan.schedule.records.name[plan.record[i]]}`;
}

function checkInside(plan) {
  let fault = null;
  for (let i = 0; i < plan.count && fault === null; i++) {
    const texture = plan.textures[plan.textureOfRecord[plan.record[i]]];
    if (texture === undefined || plan.texel[i] < 0 || plan.texel[i] + plan.texels_of[i] > texture.texels) {
      fault = `${blockText(plan, i)} is not`;
    } else if (plan.first[i] < 0 || plan.last[i] >= plan.steps) {
      fault = `${blockText(plan, i)} lives outside the run`;
    }
  }
  return verdict(`Every row of ${count(plan.schedule.records.count, "tensor")} lies inside its texture.`, fault);
}

/** Places the blocks in the order of their first steps; what is live is kept by address. */
function checkOverlaps(plan) {
  const order = Array.from(plan.record.keys()).sort((a, b) => plan.first[a] - plan.first[b]);
  const ends = Array.from(plan.record.keys()).sort((a, b) => plan.last[a] - plan.last[b]);
  const memory = new Runs();
  let ended = 0;
  for (const i of order) {
    while (ended < ends.length && plan.last[ends[ended]] < plan.first[i]) memory.remove(plan.address[ends[ended++]]);
    const other = memory.insert(plan.address[i], plan.texels_of[i], i);
    if (other !== null) {
      const fault = `${blockText(plan, other)} and ${blockText(plan, i)} do at step ${plan.first[i]}`;
      return verdict("No two rows overlap while both are live.", fault);
    }
  }
  return verdict(`No two of ${count(plan.count, "run")} of rows overlap while both are live.`, null);
}

/** Disjoint runs of texels, sorted by address. */
class Runs {
  constructor() {
    this.at = [];
    this.runs = [];
  }

  /** Index of the first run that begins at `address` or after it. */
  find(address) {
    let [low, high] = [0, this.at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[middle] < address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Inserts a run, or returns the run that it overlaps. */
  insert(address, texels, of) {
    if (texels === 0) return null;
    const place = this.find(address);
    const before = this.runs[place - 1];
    if (before !== undefined && before.end > address) return before.of;
    if (place < this.at.length && this.at[place] < address + texels) return this.runs[place].of;
    this.at.splice(place, 0, address);
    this.runs.splice(place, 0, { end: address + texels, of });
    return null;
  }

  remove(address) {
    const place = this.find(address);
    if (this.at[place] !== address) return;
    this.at.splice(place, 1);
    this.runs.splice(place, 1);
  }
}

/** Every row that a step touches is live at that step. */
function checkSteps(plan) {
  const { schedule } = plan;
  const what = `Every row that one of ${count(schedule.count, "step")} reads or writes is live then.`;
  const rowAt = starts(schedule.records.rows);
  const first = new Float64Array(rowAt.at(-1)).fill(Infinity);
  const last = new Float64Array(rowAt.at(-1)).fill(-1);
  for (let i = 0; i < plan.count; i++) {
    for (let row = 0; row < plan.rows[i]; row++) {
      const at = rowAt[plan.record[i]] + plan.row[i] + row;
      if (first[at] !== Infinity) return verdict(what, `${blockText(plan, i)} has two places`);
      first[at] = plan.first[i];
      last[at] = plan.last[i];
    }
  }
  for (let step = 0; step < schedule.count; step++) {
    for (const [verb, uses] of [["reads", schedule.reads], ["writes", schedule.writes]]) {
      for (let use = uses.start[step]; use < uses.start[step + 1]; use++) {
        for (let row = uses.row[use]; row < uses.row[use] + uses.rows[use]; row++) {
          const at = rowAt[uses.record[use]] + row;
          // A row that is read must have been written by a step before.
          const alive = last[at] >= step && (verb === "reads" ? first[at] < step : first[at] <= step);
          if (!alive) {
            return verdict(what, `step ${step} ${verb} row ${row} of ${schedule.records.name[uses.record[use]]}, which is not`);
          }
        }
      }
    }
  }
  return verdict(what, null);
}

/** WebGPU's rule: no step reads and writes one texture. */
function checkTextures(plan) {
  const { schedule, textureOfRecord } = plan;
  const what = "No step reads and writes the same texture.";
  for (let step = 0; step < schedule.count; step++) {
    const { reads, writes } = schedule;
    for (let w = writes.start[step]; w < writes.start[step + 1]; w++) {
      for (let r = reads.start[step]; r < reads.start[step + 1]; r++) {
        if (textureOfRecord[writes.record[w]] === textureOfRecord[reads.record[r]]) {
          return verdict(what, `step ${step} does, texture ${textureOfRecord[writes.record[w]]}`);
        }
      }
    }
  }
  return verdict(what, null);
}

/** Largest number of cases of a proof that the page checks; the planner has checked all of them. */
const MAX_CASES = 4096;

/**
 * Checks the proof that no plan of shared objects is smaller than its bound. A leaf has prices: for each tensor that is live
 * at a step in an object of a size, and for each object of at least a size. If the prices of no object add up to more than
 * its size, then no plan costs less than what tensors and objects pay together. A case has two sides, and holds the smaller
 * bound of both.
 */
function checkProof(plan, solution) {
  const { cases, scale, bound } = solution;
  const what = `No plan of shared objects takes less than ${grouped(bound * plan.texelBytes)} bytes.`;
  if (cases.length > MAX_CASES) return { what, ok: true, fault: null, skipped: `its ${grouped(cases.length)} cases were checked by the planner alone` };
  const records = usageRecords(plan);
  const sizes = [...new Set(records.map(r => r.size))].sort((a, b) => a - b);
  const alive = new Map(sizes.map(size => [size, mostAlive(records, size, plan.steps)]));
  const scaled = BigInt(scale);
  let next = 0;
  const prove = (ranges, atLeast, atMost) => {
    const current = cases[next++];
    if (current.leaf !== undefined) return leafBound(current.leaf, { records, sizes, alive, scaled, ranges, atLeast, atMost });
    if (current.count !== undefined) {
      const [size, number] = current.count;
      const fewer = prove(ranges, atLeast, [...atMost, [size, number - 1]]);
      return least(fewer, prove(ranges, [...atLeast, [size, number]], atMost));
    }
    const [record, size] = current.record;
    const [from, below] = ranges[record];
    const smaller = prove(ranges.with(record, [from, Math.min(below, size)]), atLeast, atMost);
    return least(smaller, prove(ranges.with(record, [Math.max(from, size), below]), atLeast, atMost));
  };
  try {
    const proven = prove(records.map(r => [r.size, Infinity]), [], []);
    const unit = BigInt(sizes.reduce((a, b) => { while (b) [a, b] = [b, a % b]; return a; }, 0) || 1);
    const whole = proven === null ? -1n : (proven + scaled * unit - 1n) / (scaled * unit) * unit;
    const ok = next === cases.length && BigInt(bound) <= whole;
    return { what, ok, fault: ok ? null : `its proof shows ${whole}` };
  } catch (error) {
    return { what, ok: false, fault: String(error.message ?? error) };
  }
}

/** The smaller bound; `null` is the bound of a case that contains no plan. */
function least(a, b) {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

function usageRecords(plan) {
  const { rows, rowTexels, count: number } = plan.schedule.records;
  return Array.from({ length: number }, (_, r) =>
    ({ size: rows[r] * rowTexels[r], first: plan.firstOf[r], last: plan.lastOf[r] }));
}

/** The largest number of records of at least this size that are live at once. */
function mostAlive(records, size, steps) {
  const change = new Int32Array(steps + 1);
  for (const r of records) {
    if (r.size < size) continue;
    change[r.first] += 1;
    change[r.last + 1] -= 1;
  }
  let [now, most] = [0, 0];
  for (const by of change) most = Math.max(most, now += by);
  return most;
}

function leafBound({ clique, count: counts, refund }, { records, sizes, alive, scaled, ranges, atLeast, atMost }) {
  const sum = list => list.reduce((total, price) => total + BigInt(price), 0n);
  for (const size of sizes) {
    const paid = sum(clique.filter(p => p[0] === size).map(p => p[2]))
      + sum(counts.filter(p => p[0] <= size).map(p => p[1])) - sum(refund.filter(p => p[0] <= size).map(p => p[1]));
    if (paid > BigInt(size) * scaled) throw new Error(`the prices of an object of ${size} add up to ${paid}`);
  }
  const bySize = new Map();
  for (const [size, step, price] of clique) {
    if (!bySize.has(size)) bySize.set(size, []);
    bySize.get(size).push([step, BigInt(price)]);
  }
  let bound = 0n;
  for (const [index, r] of records.entries()) {
    const [from, below] = ranges[index];
    const open = sizes.filter(size => size >= from && size < below);
    if (open.length === 0) return null;
    // In an open size without a price, the record pays nothing.
    let pays = null;
    for (const size of open) {
      const priced = bySize.get(size) ?? [];
      const here = priced.reduce((total, [step, price]) => step >= r.first && step <= r.last ? total + price : total, 0n);
      pays = pays === null || here < pays ? here : pays;
      if (pays === 0n) break;
    }
    bound += pays;
  }
  for (const [size, price] of counts) {
    const at = sizes.find(other => other >= size);
    const needed = atLeast.filter(([of]) => of >= size).map(([, number]) => number);
    bound += BigInt(Math.max(at === undefined ? 0 : alive.get(at), 0, ...needed)) * BigInt(price);
  }
  for (const [size, price] of refund) {
    const allowed = atMost.filter(([of]) => of <= size).map(([, number]) => number);
    if (allowed.length > 0) bound -= BigInt(Math.min(...allowed)) * BigInt(price);
    else if (price !== 0) throw new Error(`it subtracts a price for objects of at least ${size} without a limit on their number`);
  }
  return bound;
}
