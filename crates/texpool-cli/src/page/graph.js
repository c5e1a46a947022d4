// The graph by levels: a node stands below all whose results it reads.

const NODE = { width: 178, height: 34, gapX: 14, gapY: 26 };

class GraphView {
  constructor() {
    this.note = element("p", { class: "quiet" });
    this.box = element("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph by levels" });
    this.element = element("div", { class: "panel-body" }, this.note, this.box);
    this.drawn = null;
  }

  refresh() {
    const { schedule } = state.plan;
    if (this.drawn !== schedule) {
      this.drawn = schedule;
      this.draw(schedule);
    }
    this.mark();
  }

  draw(schedule) {
    const { graph } = schedule;
    const { places, width, height } = layered(graph);
    const svg = svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    this.nodes = [];
    this.edges = [];
    const producer = producers(graph);
    const lines = svgElement("g", { class: "edges" });
    svg.append(lines);
    for (const [index, node] of graph.nodes.entries()) {
      const to = places[index];
      for (const tensor of node.inputs) {
        const from = producer[tensor];
        if (from === undefined) continue;
        const [x1, y1] = [places[from].x + NODE.width / 2, places[from].y + NODE.height];
        const [x2, y2] = [to.x + NODE.width / 2, to.y];
        const path = svgElement("path", { d: edgePath([x1, y1], [x2, y2]) });
        this.edges.push({ path, tensor, from, to: index });
        lines.append(path);
      }
    }
    for (const [index, node] of graph.nodes.entries()) {
      const { x, y } = places[index];
      const name = graph.tensors[node.output].name;
      const cascade = schedule.cascadeOfNode === null ? 0 : schedule.cascadeOfNode[index];
      const stepsOf = schedule.stepsOfNode[index].length;
      const fused = (node.fused ?? []).length > 0 ? ` + ${node.fused.map(text => text.split(" ")[0]).join(" + ")}` : "";
      const title = `${node.op}${fused} → ${name}, [${graph.tensors[node.output].dims}], ${stepsOf === 0 ? "a view or written in place: no step" : count(stepsOf, "step")}`;
      const group = svgElement("g", { class: stepsOf === 0 ? "node view" : "node", transform: `translate(${x} ${y})`, tabindex: "-1", role: "button", "aria-label": title },
        svgElement("title", {}, title),
        svgElement("rect", { width: NODE.width, height: NODE.height, rx: 5 }),
        svgElement("text", { x: 10, y: 14, class: "op" }, cutEnd(node.op + fused, 22)),
        svgElement("text", { x: 10, y: 27, class: "name" }, cut(name, 26)));
      if (cascade > 0) group.append(svgElement("rect", { class: "cascade", width: 4, height: NODE.height, rx: 2, fill: `hsl(${hue(cascade)} 60% 50%)` }));
      const choose = () => {
        selectTensor(node.output);
        if (stepsOf > 0) showStep(schedule.stepsOfNode[index][0]);
      };
      group.addEventListener("click", choose);
      group.addEventListener("keydown", event => this.key(event, index, choose));
      this.nodes.push(group);
      svg.append(group);
    }
    this.producer = producer;
    this.box.replaceChildren(svg);
    if (this.nodes.length > 0) this.nodes[0].setAttribute("tabindex", "0");
    const fusions = graph.nodes.reduce((sum, node) => sum + (node.fused ?? []).length, 0);
    this.note.textContent = `${count(graph.nodes.length, "node")}, with ${count(fusions, "operation")} fused into others`
      + (schedule.cascades.length > 0 ? `; ${count(schedule.cascades.length, "cascade")}, marked by colour: ${cascadeText(schedule.cascades)}` : "");
  }

  /** Arrow keys follow the edges. */
  key(event, index, choose) {
    const { graph } = this.drawn;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return choose();
    }
    const to = {
      ArrowDown: () => this.edges.find(edge => edge.from === index)?.to ?? index + 1,
      ArrowUp: () => this.edges.find(edge => edge.to === index)?.from ?? index - 1,
      ArrowRight: () => index + 1,
      ArrowLeft: () => index - 1,
    }[event.key]?.();
    if (to === undefined || to < 0 || to >= graph.nodes.length) return;
    event.preventDefault();
    event.stopPropagation();
    this.nodes[index].setAttribute("tabindex", "-1");
    this.nodes[to].setAttribute("tabindex", "0");
    this.nodes[to].focus();
  }

  /** Marks the selected tensor's node and edges, and the node of the chosen step. */
  mark() {
    if (this.drawn === null || this.nodes === undefined) return;
    const chosen = state.tensor >= 0 ? this.producer[state.tensor] : state.record >= 0 ? this.drawn.records.node[state.record] - 1 : undefined;
    const now = this.drawn.count > 0 ? this.drawn.node[state.step] : -1;
    for (const [index, group] of this.nodes.entries()) {
      group.classList.toggle("selected", index === chosen);
      group.classList.toggle("now", index === now);
    }
    for (const { path, tensor } of this.edges) path.classList.toggle("selected", tensor === state.tensor && state.tensor >= 0);
    const shown = this.nodes[chosen ?? now];
    if (shown !== undefined && this.box.clientHeight > 0) {
      const [x, y] = shown.getAttribute("transform").match(/[\d.]+/g).map(Number);
      const outside = y < this.box.scrollTop || y + NODE.height > this.box.scrollTop + this.box.clientHeight
        || x < this.box.scrollLeft || x + NODE.width > this.box.scrollLeft + this.box.clientWidth;
      if (outside) this.box.scrollTo({ left: x - this.box.clientWidth / 2 + NODE.width / 2, top: y - this.box.clientHeight / 2 });
    }
  }
}

/** A curve from a node down to another; one that passes nodes in its own column goes around them. */
function edgePath([x1, y1], [x2, y2]) {
  const bend = Math.min(60, (y2 - y1) / 2);
  const level = NODE.height + NODE.gapY;
  if (y2 - y1 <= level || Math.abs(x1 - x2) > NODE.width / 2) return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  const aside = Math.max(x1, x2) + NODE.width / 2 + Math.min(60, 6 + (y2 - y1) / level * 2);
  return `M${x1} ${y1}C${x1} ${y1 + 20} ${aside} ${y1 + 6} ${aside} ${y1 + level / 2}V${y2 - level / 2}C${aside} ${y2 - 6} ${x2} ${y2 - 20} ${x2} ${y2}`;
}

function cut(text, most) {
  return text.length > most ? `…${text.slice(1 - most)}` : text;
}

function cutEnd(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Cascades in words, those that are alike and follow each other as one. */
function cascadeText(cascades) {
  const texts = [];
  for (const { operators, stripes } of cascades) {
    const cut = stripes === undefined ? "stripes of one row" : stripes === 1 ? "one stripe" : `${stripes} stripes`;
    const text = `${count(operators, "operator")} in ${cut}`;
    const last = texts.at(-1);
    if (last?.text === text) last.times += 1;
    else texts.push({ text, times: 1 });
  }
  return texts.map(({ text, times }) => (times > 1 ? `${times} × ${text}` : text)).join(", ");
}

/** The node that writes each tensor. */
function producers(graph) {
  const made = [];
  graph.nodes.forEach((node, index) => { made[node.output] = index; });
  return made;
}

/** Places nodes: by level downwards, and within a level near the nodes that they read. */
function layered(graph) {
  const producer = producers(graph);
  const level = [];
  const rows = [];
  graph.nodes.forEach((node, index) => {
    const before = node.inputs.map(tensor => producer[tensor]).filter(from => from !== undefined);
    level[index] = before.reduce((most, from) => Math.max(most, level[from] + 1), 0);
    (rows[level[index]] ??= []).push(index);
  });
  const step = NODE.width + NODE.gapX;
  const widest = rows.reduce((most, row) => Math.max(most, row.length), 1);
  const middle = widest * step / 2;
  const places = [];
  for (const [depth, row] of rows.entries()) {
    const wished = new Map(row.map(index => {
      const before = graph.nodes[index].inputs.map(tensor => producer[tensor]).filter(from => from !== undefined && places[from] !== undefined);
      return [index, before.length === 0 ? middle - NODE.width / 2 : before.reduce((sum, from) => sum + places[from].x, 0) / before.length];
    }));
    row.sort((a, b) => wished.get(a) - wished.get(b));
    // As near to the wished place as the neighbours leave room, then moved into the picture.
    let next = -Infinity;
    const xs = row.map(index => {
      next = Math.max(next, wished.get(index)) + step;
      return next - step;
    });
    const over = Math.max(0, xs.at(-1) + NODE.width - widest * step);
    row.forEach((index, i) => { places[index] = { x: xs[i] - over, y: depth * (NODE.height + NODE.gapY) + 8 }; });
  }
  const left = places.reduce((least, at) => Math.min(least, at.x), 0);
  places.forEach(at => { at.x += 8 - left; });
  const right = places.reduce((most, at) => Math.max(most, at.x + NODE.width), NODE.width);
  return { places, width: right + 70, height: rows.length * (NODE.height + NODE.gapY) + 8 };
}
