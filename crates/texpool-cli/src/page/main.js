// Joins the parts: what is shown first, the choices above the map, and the search.

const stepTable = new StepTable();
const graphView = new GraphView();
const proofPanel = new ProofPanel();

function setUpChoices() {
  const select = byId("plan");
  const groups = { runs: "To run", strategy: "Strategies", front: "Front" };
  for (const [group, title] of Object.entries(groups)) {
    const options = data.plans.flatMap((plan, index) =>
      plan.group === group ? [element("option", { value: index }, `${plan.name} (${size(plan.bytes)})`)] : []);
    if (options.length > 0) select.append(element("optgroup", { label: title }, ...options));
  }
  select.addEventListener("change", () => showPlan(Number(select.value)));
  // The plans that say most beside each other: each tensor by itself, one strategy, banks, an arena, and what runs.
  const wanted = ["naive", "greedy_by_size_improved", "banks", "smallest arena", ...data.plans.filter(plan => plan.group === "runs").map(plan => plan.name)];
  const quick = wanted.map(name => data.plans.findIndex(plan => plan.name === name)).filter(index => index >= 0);
  const names = { greedy_by_size_improved: "greedy" };
  for (const index of quick) {
    const plan = data.plans[index];
    byId("quick").append(element("button", { type: "button", "data-plan": index, title: `${plan.name}: ${grouped(plan.bytes)} bytes`, onclick: () => showPlan(index) },
      `${names[plan.name] ?? plan.name} `, element("small", {}, size(plan.bytes))));
  }
  const tick = (id, key) => byId(id).addEventListener("change", event => {
    state[key] = event.target.checked;
    fit({ x0: state.view.x0, x1: state.view.x1 });
  });
  tick("scale", "oneScale");
  tick("device", "device");
  byId("zoom-in").addEventListener("click", () => zoom(0.6));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  byId("zoom-fit").addEventListener("click", () => fit());
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("peak").addEventListener("click", () => showStep(state.plan.widest));
  byId("step").addEventListener("input", event => showStep(Number(event.target.value)));
  byId("step-number").addEventListener("change", event => event.target.value !== "" && showStep(Number(event.target.value)));
}

/** Fills in everything that depends on the plan. */
function renderPlan() {
  const { plan } = state;
  byId("plan").value = plan.index;
  for (const button of byId("quick").children) button.setAttribute("aria-pressed", Number(button.dataset.plan) === plan.index);
  const least = plan.live[plan.widest] * plan.texelBytes;
  byId("summary").textContent = `${plan.name}: ${size(plan.bytes)} in ${plan.problem === "offsets" ? "one arena" : count(plan.textures.length, "texture")}, ${count(plan.schedule.count, "step")}, ${count(plan.schedule.records.count, "tensor")}. `
    + `Each tensor by itself: ${size(plan.naive)}. Least for these steps: ${size(least)}.`;
  map.setAttribute("aria-label", `${byId("summary").textContent} The tables beside it have the same facts.`);
  for (const id of ["step", "step-number"]) byId(id).max = plan.steps - 1;
  byId("device-label").hidden = plan.beside.length === 0;
  stepTable.refresh();
}

function renderStep() {
  byId("step").value = state.step;
  byId("step-number").value = state.step;
  byId("step").setAttribute("aria-valuetext", `step ${state.step}, ${grouped(state.plan.live[state.step] * state.plan.texelBytes)} bytes live`);
  renderLive();
  if (panels.list[panels.shown].panel === stepTable) stepTable.follow();
  if (panels.list[panels.shown].panel === graphView) graphView.mark();
}

function renderSelection() {
  renderDetail();
  for (const row of byId("live-table").querySelectorAll("[data-record]")) row.classList.toggle("selected", Number(row.dataset.record) === state.record);
  if (panels.list[panels.shown].panel === stepTable) {
    stepTable.refresh();
    stepTable.follow();
  }
  if (panels.list[panels.shown].panel === graphView) graphView.mark();
}

/** Largest number of names that a search shows. */
const FOUND = 12;

function setUpSearch() {
  const field = byId("search");
  const list = byId("found");
  let chosen = -1;
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const mark = at => {
    chosen = at;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", i === at));
    if (at >= 0) field.setAttribute("aria-activedescendant", list.children[at].id);
  };
  const take = name => {
    selectByName(name);
    if (state.record >= 0 && state.plan.lastOf[state.record] >= 0) showStep(state.plan.firstOf[state.record]);
    else if (state.tensor >= 0) {
      const [first] = stepsOfSelection();
      if (first !== undefined) showStep(first);
    }
    close();
  };
  field.addEventListener("input", () => {
    const text = field.value.trim().toLowerCase();
    const { graph, records } = state.plan.schedule;
    const names = new Set([...graph.tensors.filter(tensor => !tensor.constant).map(tensor => tensor.name), ...records.name]);
    const found = text === "" ? [] : [...names].filter(name => name.toLowerCase().includes(text));
    // Exact names first, then those that begin with the text.
    const rank = name => (name.toLowerCase() === text ? 0 : name.toLowerCase().startsWith(text) ? 1 : 2);
    found.sort((a, b) => rank(a) - rank(b) || a.length - b.length);
    list.replaceChildren(...found.slice(0, FOUND).map((name, i) =>
      element("li", { role: "option", id: `found-${i}`, onpointerdown: event => { event.preventDefault(); take(name); } }, name)));
    if (text !== "" && found.length !== list.children.length) list.append(element("li", { class: "quiet", role: "presentation" }, `and ${grouped(found.length - FOUND)} more`));
    if (text !== "" && found.length === 0) list.append(element("li", { class: "quiet", role: "presentation" }, "no tensor has this in its name"));
    list.hidden = text === "";
    field.setAttribute("aria-expanded", String(text !== ""));
    mark(found.length > 0 ? 0 : -1);
  });
  field.addEventListener("keydown", event => {
    const options = list.querySelectorAll("[role=option]");
    if (event.key === "ArrowDown" && options.length > 0) mark((chosen + 1) % options.length);
    else if (event.key === "ArrowUp" && options.length > 0) mark((chosen + options.length - 1) % options.length);
    else if (event.key === "Enter" && options[chosen] !== undefined) take(options[chosen].textContent);
    else if (event.key === "Escape") {
      close();
      map.focus();
    } else return;
    event.preventDefault();
  });
  field.addEventListener("blur", close);
}

function start() {
  byId("model").textContent = data.model;
  byId("version").textContent = `texpool ${data.version}`;
  makePalette();
  panels.add("Steps", stepTable);
  panels.add("Graph", graphView);
  panels.add("Plans", new PlansPanel());
  panels.add("Device", new DevicePanel());
  panels.add("Proof", proofPanel);
  panels.add("Export", new ExportPanel());
  setUpChoices();
  setUpSearch();
  setUpFront();
  on("plan", renderPlan);
  on("plan", () => panels.list[panels.shown].panel !== stepTable && panels.refresh());
  on("step", renderStep);
  on("selection", renderSelection);
  for (const what of ["plan", "step", "selection", "view"]) on(what, redraw);
  new ResizeObserver(redraw).observe(stage);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const recolour = () => {
    makePalette();
    renderLive();
    renderDetail();
    draw();
  };
  scheme.addEventListener("change", recolour);
  for (const [event, prints] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => {
      printing = prints;
      recolour();
    });
  }
  showPlan(data.shown);
  panels.show(0);
}

/** What is shown, for programs that read this page. */
window.texpool = {
  data, state, drawn, planOf, liveAt, showPlan, showStep, selectByName, selectRecord, setView, fit, zoom, draw, checkPlan,
  checkProof, traceJson, nodeDataJson, mapSvg, panels,
};

start();
window.texpool.ready = performance.now();
