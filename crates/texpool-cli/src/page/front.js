// The slider along the Pareto front.

function setUpFront() {
  const { front } = data;
  if (front === undefined) return;
  const slider = byId("front-slider");
  byId("front").hidden = false;
  slider.max = front.points.length - 1;
  slider.value = front.points.length - 1;
  const move = () => {
    const { plan } = front.points[slider.value];
    if (plan !== null && plan !== state.plan.index) showPlan(plan);
    renderFront();
  };
  slider.addEventListener("input", move);
  // A press on the point at which the slider is already is no input.
  slider.addEventListener("click", move);
  on("plan", () => {
    const at = front.points.findIndex(point => point.plan === state.plan.index);
    if (at >= 0) slider.value = at;
    renderFront();
  });
}

function renderFront() {
  const { front } = data;
  const slider = byId("front-slider");
  const point = front.points[slider.value];
  const drawn = front.points.filter(other => other.plan !== null).length;
  const text = `${Number(slider.value) + 1} of ${front.points.length}: ${size(point.device_bytes)} of the device, ${size(point.bytes)} of them the pool; about ${milliseconds(point.predicted_ms)}, ${grouped(point.dispatches)} ${point.dispatches === 1 ? "dispatch" : "dispatches"}`;
  const shown = state.plan.index === point.plan;
  const why = point.plan === null ? "; its map was left out to keep this file small" : shown ? "" : "; press or move the slider to see its map";
  const left = drawn < front.points.length ? ` (${drawn} points have maps)` : "";
  byId("front-text").textContent = text + why + left;
  slider.setAttribute("aria-valuetext", text);
  byId("front").classList.toggle("inactive", !shown);
}
