// The map: time to the right, addresses upwards, a rectangle for each run of rows. Rectangles are written into the pixels of
// a picture, which takes as long for 50,000 of them as for 500, since they do not overlap.

const stage = byId("stage");
const map = byId("map");
const profile = byId("profile");
const tip = byId("tip");

/** Colours, of the map's parts and of records, for the scheme of the reader. */
let palette = null;
let drawing = 0;

/** Milliseconds of the last drawings, for whoever measures. */
const drawn = [];

function pixel([r, g, b]) {
  // Little-endian, as every machine with a browser is.
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function mixed(a, b, part) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * part));
}

function makePalette() {
  const dark = isDark();
  const ground = dark ? [20, 23, 28] : [255, 255, 255];
  const unused = dark ? [38, 43, 51] : [233, 236, 240];
  const edge = dark ? [0, 0, 0] : [70, 76, 84];
  const records = data.schedules.reduce((most, schedule) => Math.max(most, schedule.records.count), 0);
  const colours = Array.from({ length: records }, (_, record) => rgb(record, dark));
  palette = {
    dark, ground, unused,
    beside: dark ? [62, 68, 78] : [206, 211, 218],
    text: dark ? "#e6e9ee" : "#14171c",
    quiet: dark ? "#98a2b0" : "#5b6572",
    bound: dark ? "#ff7b72" : "#c4281c",
    cursor: dark ? "#f2f5f9" : "#101418",
    groundPixel: pixel(ground),
    unusedPixel: pixel(unused),
    fill: Uint32Array.from(colours, pixel),
    dim: Uint32Array.from(colours, colour => pixel(mixed(colour, unused, 0.82))),
    line: Uint32Array.from(colours, colour => pixel(mixed(colour, edge, 0.45))),
  };
}

/** Asks for a drawing in the next frame. */
function redraw() {
  if (drawing === 0) drawing = requestAnimationFrame(draw);
}

/** Extents of a canvas in pixels of the screen, which are set if they changed. */
function extents(canvas) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [Math.max(1, Math.round(canvas.clientWidth * scale)), Math.max(1, Math.round(canvas.clientHeight * scale))];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return { width, height, scale };
}

function draw() {
  drawing = 0;
  if (state.plan === null) return;
  const begun = performance.now();
  const box = extents(map);
  const context = map.getContext("2d", { alpha: false });
  const painted = paint(state.plan, state.view, box);
  context.putImageData(painted.image, 0, 0);
  drawOver(context, state.plan, state.view, box, painted.labels);
  drawProfile();
  drawn.push(performance.now() - begun);
  if (drawn.length > 240) drawn.shift();
}

let kept = null;

/** Paints textures and blocks into pixels. Returns the picture, and the blocks that are large enough for a name. */
function paint(plan, { x0, x1, y0, y1 }, { width, height, scale }) {
  if (kept === null || kept.width !== width || kept.height !== height) kept = new ImageData(width, height);
  const image = kept;
  const pixels = new Uint32Array(image.data.buffer);
  const labels = [];
  const { texelBytes, record, address, texels_of, first, last } = plan;
  const [perStep, perByte] = [width / (x1 - x0), height / (y1 - y0)];
  const row = bytes => Math.round((y1 - bytes) * perByte);
  pixels.fill(palette.groundPixel);
  for (const { base, texels } of plan.textures) {
    const [top, bottom] = [row((base + texels) * texelBytes), row(base * texelBytes)].map(y => Math.max(0, Math.min(height, y)));
    const right = Math.min(width, Math.round((plan.steps - x0) * perStep));
    if (right === width) pixels.fill(palette.unusedPixel, top * width, bottom * width);
    else for (let y = top; y < bottom; y++) pixels.fill(palette.unusedPixel, y * width, y * width + right);
  }
  const some = state.record >= 0;
  for (let i = 0; i < plan.count; i++) {
    if (first[i] >= x1 || last[i] + 1 <= x0) continue;
    const [low, high] = [address[i] * texelBytes, (address[i] + texels_of[i]) * texelBytes];
    if (low >= y1 || high <= y0) continue;
    const left = Math.max(0, Math.floor((first[i] - x0) * perStep));
    const right = Math.min(width, Math.max(left + 1, Math.floor((last[i] + 1 - x0) * perStep)));
    const top = Math.max(0, Math.round((y1 - high) * perByte));
    const bottom = Math.min(height, Math.max(top + 1, Math.round((y1 - low) * perByte)));
    const r = record[i];
    const faint = some && r !== state.record;
    const colour = faint ? palette.dim[r] : palette.fill[r];
    for (let at = top * width; at < bottom * width; at += width) pixels.fill(colour, at + left, at + right);
    if (faint) continue;
    const [wide, tall] = [right - left, bottom - top];
    if (wide > 4 && tall > 2) {
      const line = palette.line[r];
      // The left edge, if it is in view: where a life begins; and the lower edge.
      if ((first[i] - x0) * perStep >= 0) for (let y = top; y < bottom; y++) pixels[y * width + left] = line;
      pixels.fill(line, (bottom - 1) * width + left, (bottom - 1) * width + right);
      if (wide > 46 * scale && tall > 13 * scale && labels.length < 400) labels.push({ record: r, left, top, wide, tall });
    }
  }
  return { image, labels };
}

/** Draws what lies over the blocks: names, textures' borders, memory beside the pool, bound and step. */
function drawOver(context, plan, { x0, x1, y0, y1 }, { width, height, scale }, labels) {
  const [perStep, perByte] = [width / (x1 - x0), height / (y1 - y0)];
  const y = bytes => (y1 - bytes) * perByte;
  const x = step => (step - x0) * perStep;
  const right = Math.min(width, x(plan.steps));
  context.textBaseline = "middle";
  context.font = `${11 * scale}px system-ui, sans-serif`;
  context.fillStyle = palette.dark ? "#fff" : "#111";
  for (const { record, left, top, wide, tall } of labels) {
    label(context, plan.schedule.records.name[record], left + 4 * scale, top + tall / 2, wide - 8 * scale);
  }
  let above = plan.bytes;
  if (state.device) {
    for (const [name, bytes] of plan.beside) {
      const [top, bottom] = [y(above + bytes), y(above)];
      context.fillStyle = css(palette.beside);
      context.fillRect(x(0), top, right - x(0), bottom - top);
      if (bottom - top > 13 * scale) {
        context.fillStyle = palette.text;
        label(context, `${name}: ${grouped(bytes)} bytes`, 6 * scale, (Math.max(top, 0) + Math.min(bottom, height)) / 2, width);
      }
      border(context, top, right, scale);
      above += bytes;
    }
  }
  for (const [index, { base, bytes, width: w, height: h }] of plan.textures.entries()) {
    const top = y(base * plan.texelBytes + bytes);
    border(context, top, right, scale);
    const tall = bytes * perByte;
    if (tall > 30 * scale && top > -tall && top < height) {
      context.fillStyle = palette.quiet;
      const named = w > 0 ? `texture ${index}: ${w} × ${h}` : plan.problem === "offsets" ? "arena" : `object ${index}`;
      const text = `${named}, ${size(bytes)}`;
      const wide = context.measureText(text).width;
      context.fillStyle = css(palette.unused);
      context.globalAlpha = 0.92;
      context.fillRect(right - wide - 10 * scale, Math.max(top, 0) + 2 * scale, wide + 8 * scale, 15 * scale);
      context.globalAlpha = 1;
      context.fillStyle = palette.quiet;
      context.fillText(text, right - wide - 6 * scale, Math.max(top, 0) + 10 * scale);
    }
  }
  const bound = plan.live[plan.widest] * plan.texelBytes;
  context.strokeStyle = context.fillStyle = palette.bound;
  context.lineWidth = 1.5 * scale;
  context.setLineDash([6 * scale, 4 * scale]);
  context.beginPath();
  context.moveTo(0, y(bound));
  context.lineTo(right, y(bound));
  context.stroke();
  context.setLineDash([]);
  if (y(bound) > 0 && y(bound) < height) {
    const below = y(bound) < 18 * scale;
    haloed(context, `widest step: ${grouped(bound)}, no plan of these steps takes less`, 6 * scale, y(bound) + (below ? 10 : -9) * scale, scale);
  }
  const middle = x(state.step + 0.5);
  if (middle >= 0 && middle <= width) {
    context.strokeStyle = palette.cursor;
    context.lineWidth = Math.max(1.5 * scale, Math.min(perStep, 3 * scale));
    context.beginPath();
    context.moveTo(middle, 0);
    context.lineTo(middle, height);
    context.stroke();
  }
}

function border(context, top, right, scale) {
  context.fillStyle = css(palette.ground);
  context.fillRect(0, Math.round(top) - scale / 2, right, scale);
}

/** Draws text, cut to a width. */
function label(context, text, left, middle, width) {
  let shown = text;
  if (context.measureText(shown).width > width) {
    const part = Math.max(1, Math.floor(text.length * width / context.measureText(text).width) - 1);
    // The end of a name tells more than its beginning.
    shown = part < text.length ? `…${text.slice(-part)}` : text;
  }
  context.fillText(shown, left, middle);
}

function haloed(context, text, left, middle, scale) {
  context.save();
  context.lineWidth = 4 * scale;
  context.lineJoin = "round";
  context.strokeStyle = css(palette.ground);
  context.globalAlpha = 0.85;
  context.strokeText(text, left, middle);
  context.restore();
  context.fillStyle = palette.bound;
  context.fillText(text, left, middle);
}

/** Draws the live bytes of every step, with the part that the map shows. */
function drawProfile() {
  const { width, height, scale } = extents(profile);
  const context = profile.getContext("2d");
  const { live, texelBytes, steps, bytes } = state.plan;
  context.clearRect(0, 0, width, height);
  const most = Math.max(bytes, 1);
  context.fillStyle = css(palette.unused);
  context.fillRect(0, 0, width, height);
  context.fillStyle = palette.dark ? "#5aa0e6" : "#3b7fc4";
  for (let column = 0; column < width; column++) {
    const from = Math.floor(column * steps / width);
    const to = Math.max(from + 1, Math.floor((column + 1) * steps / width));
    let now = 0;
    for (let step = from; step < to; step++) now = Math.max(now, live[step]);
    const tall = now * texelBytes / most * height;
    context.fillRect(column, height - tall, 1, tall);
  }
  const { x0, x1 } = state.view;
  context.fillStyle = css(palette.ground);
  context.globalAlpha = 0.6;
  context.fillRect(0, 0, x0 / steps * width, height);
  context.fillRect(x1 / steps * width, 0, width, height);
  context.globalAlpha = 1;
  context.fillStyle = palette.cursor;
  context.fillRect((state.step + 0.5) / steps * width - scale, 0, 2 * scale, height);
}

/** The step, the bytes from the bottom, and the block under a point of the map in CSS pixels. */
function under(pointX, pointY) {
  const { plan, view } = state;
  const step = Math.floor(view.x0 + pointX / map.clientWidth * (view.x1 - view.x0));
  const byte = view.y1 - pointY / map.clientHeight * (view.y1 - view.y0);
  const at = byte / plan.texelBytes;
  let block = -1;
  for (let i = 0; i < plan.count && block < 0; i++) {
    if (plan.first[i] <= step && plan.last[i] >= step && plan.address[i] <= at && at < plan.address[i] + plan.texels_of[i]) block = i;
  }
  return { step: Math.max(0, Math.min(plan.steps - 1, step)), byte, block };
}
