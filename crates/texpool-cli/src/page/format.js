// Text forms of numbers, and elements of the document.

/** `1234567` as `1,234,567`. */
function grouped(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `21387936` as `20.4 MiB`. */
function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** A share as `12.3 %`. */
function share(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

function milliseconds(ms) {
  return `${ms < 1 ? ms.toFixed(3) : ms < 100 ? ms.toFixed(2) : ms.toFixed(0)} ms`;
}

/** `1 step`, `2 steps`. */
function count(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Escapes text for markup. */
function escaped(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // Control characters are not allowed in XML, not even escaped.
  return text.replace(/[&<>"]/g, c => names[c]).replace(/[\u0000-\u001f]/g, "\ufffd");
}

function byId(id) {
  return document.getElementById(id);
}

/** Creates an element: attributes by name, `on…` as listeners, and children as elements or text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== undefined && child !== null));
  return made;
}

function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Hues of consecutive records differ strongly: they are multiples of the golden angle. */
function hue(record) {
  return (record * 137.508) % 360;
}

/** True while the page is printed: paper is white, whatever the screen is. */
let printing = false;

function isDark() {
  return !printing && window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour of a record as red, green and blue. */
function rgb(record, dark) {
  const [h, s, l] = [hue(record), 0.52, dark ? 0.5 : 0.66];
  const part = n => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}
