// The search for tensors by name, with a list of those found.

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
