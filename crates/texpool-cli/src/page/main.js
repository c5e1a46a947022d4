// Joins the parts: what is shown first, and the choices above the map.

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
