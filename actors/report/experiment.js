// 1. A cell is one run: the order is its line, the step of the cancel its column.
// 2. Where there are more steps than pixels, a column shows the worst of its steps.
// 3. What is chosen and what is marked change how cells are painted, never the data.

const KINDS = {request: "request", tool: "tool", child: "child", node: "node",
  person: "human", run: "wait", scenario: "wait"};
const TOLD = {request: "in a request", tool: "in a tool", child: "in a subagent",
  node: "in a graph node", person: "waiting for a person", run: "between them"};
const LABEL = 46;          // pixels left of the cells: the seed, and the whole run
const SUMS = 48;           // pixels, as in the markup
const AXIS = 18;
const LINE_MIN = 5, LINE_MAX = 18, LINES_HIGH = 260;
const PLACES_MAX = 100;    // places shown at first
const TEXTS_SHOWN = 3;     // texts of one invariant
const TASKS_MAX = 12;      // tasks of one scene shown at first
const colors = Object.fromEntries(Object.entries(KINDS).map(([kind, name]) => [kind, color(name)]));

let sheet;                 // the tables, once they are unpacked
let rows = [];             // one for each seed
let places = [];           // where cancels came, the broken ones first
let checks = [];           // invariants, the broken ones first
let placesOfScene = [];    // the first is that of the task that made the step
let steps = 0;
let zoom = [0, 1];
let chosen = null;         // {line, step}; step -1 is the run that was left alone
let marked = null;         // {place} or {check}

const word = number => sheet.words[number];
const count = n => n.toLocaleString("en");
const plural = (n, name) => `${count(n)} ${name}${n === 1 ? "" : "s"}`;

// Reading the tables

function read() {
  rows = sheet.rows.map(([seed, whole, first, scenes, outcomes]) => ({seed, whole, first, scenes, outcomes}));
  steps = Math.max(1, ...rows.map(row => row.first + row.outcomes.length));
  zoom = [Math.min(...rows.filter(row => row.outcomes.length).map(row => row.first), steps - 1), steps];
  const known = new Map();
  placesOfScene = sheet.scenes.map(([spot, others]) => placesOf(spot, others, known));
  places = [...known.values()];
  const names = new Map(data.checked.map(name => [name, {name, runs: 0, faults: new Map(), first: null}]));
  sheet.faults.forEach(([name]) => {
    if (!names.has(word(name))) names.set(word(name), {name: word(name), runs: 0, faults: new Map(), first: null});
  });
  rows.forEach((row, line) => {
    if (row.whole >= 0) countRun(names, {line, step: -1});
    row.outcomes.forEach((_, k) => countRun(names, {line, step: row.first + k}));
  });
  checks = [...names.values()].sort((a, b) => b.runs - a.runs);
  places = places.filter(place => place.runs);
  const share = place => place.broken / place.runs;
  places.sort((a, b) => share(b) - share(a) || b.broken - a.broken || a.first.step - b.first.step);
}
// The place of the task that made the step, and the user's lines where others wait.
function placesOf(spot, others, known) {
  const found = new Set([placeOf(spot, known)]);
  for (const other of others) {
    if (sheet.spots[other][2].length) found.add(placeOf(other, known));
  }
  return [...found];
}
function placeOf(spot, known) {
  const [kind, who, stack, runtime] = spot < 0 ? [-1, -1, [], -1] : sheet.spots[spot];
  const frame = stack.length ? stack[stack.length - 1] : -1;
  const key = spot < 0 ? "start" : `${frame} ${frame < 0 ? runtime : ""} ${who}`;
  if (!known.has(key)) {
    known.set(key, {frame, runtime, kind: spot < 0 ? "scenario" : word(kind),
      who: spot < 0 ? "before the first step" : word(who), runs: 0, broken: 0, first: null});
  }
  return known.get(key);
}
function countRun(names, at) {
  const {outcome, scene} = runAt(at);
  const faults = sheet.outcomes[outcome][1];
  for (const place of scene < 0 ? [] : placesOfScene[scene]) {
    place.runs += 1;
    place.broken += faults.length > 0;
    if (!place.first || (faults.length && place.broken === 1)) place.first = at;
  }
  for (const fault of faults) {
    const check = names.get(word(sheet.faults[fault][0]));
    check.runs += 1;
    check.faults.set(fault, (check.faults.get(fault) || 0) + 1);
    check.first = check.first || at;
  }
}
function runAt({line, step}) {
  const row = rows[line], k = step - row.first;
  if (step < 0) return {outcome: row.whole, scene: -1};
  if (k < 0 || k >= row.outcomes.length) return null;
  return {outcome: row.outcomes[k], scene: row.scenes[k]};
}
const faultsOf = run => sheet.outcomes[run.outcome][1];
const endingOf = run => word(sheet.outcomes[run.outcome][0]);

// Words for places

function inWords(frame) {
  const [file, line, name] = sheet.frames[frame];
  return `${word(file)}:${line} ${word(name)}`;
}
function placeInWords(place) {
  if (place.frame >= 0) return inWords(place.frame);
  return place.runtime >= 0 ? inWords(place.runtime) : place.who;
}
function runInWords(at) {
  const run = runAt(at), seed = `seed ${rows[at.line].seed}`;
  if (!run) return `${seed}, step ${at.step}: not tried`;
  const place = run.scene < 0 ? null : placesOfScene[run.scene][0];
  const where = place ? `: ${place.who}${place.frame >= 0 || place.runtime >= 0 ? `, ${placeInWords(place)}` : ""}` : "";
  const broke = faultsOf(run).map(fault => word(sheet.faults[fault][0])).join(", ");
  return `${seed}, ${at.step < 0 ? "not cancelled" : `step ${at.step}`}${where} — ${broke ? `broken: ${broke}` : "ok"}`;
}

// The map

function isMarked(run) {
  if (!marked) return true;
  if (marked.place) return run.scene >= 0 && placesOfScene[run.scene].includes(marked.place);
  return faultsOf(run).some(fault => word(sheet.faults[fault][0]) === marked.check);
}
// How a cell looks: [rank, color, strength]; of several the highest rank is painted.
function lookOf(run) {
  const fits = isMarked(run);
  if (faultsOf(run).length) return [fits ? 4 : 1, color("failed"), fits ? 1 : 0.25];
  const place = run.scene < 0 ? null : placesOfScene[run.scene][0];
  const tint = place ? colors[place.kind] : color("line");
  const strong = endingOf(run) === "cancelled" || endingOf(run) === "left alone" ? 0.6 : 0.25;
  return [fits ? 3 : 0, tint, fits ? (marked ? 0.9 : strong) : 0.12];
}
function lineHeight() {
  return Math.max(LINE_MIN, Math.min(LINE_MAX, Math.floor(LINES_HIGH / rows.length)));
}
function perStep(width) { return (width - LABEL) / (zoom[1] - zoom[0]); }

function paint() {
  paintSums();
  paintCells();
  paintAxis();
}
function paintSums() {
  const [pen, width] = prepared(byId("sums"), SUMS);
  const wide = perStep(width), high = SUMS - 12;
  let most = 0;
  const sums = new Float64Array(Math.ceil(width) + 1);
  const tried = new Float64Array(Math.ceil(width) + 1);
  for (let step = zoom[0]; step < zoom[1]; step++) {
    let broken = 0, seen = 0;
    for (let line = 0; line < rows.length; line++) {
      const run = runAt({line, step});
      if (run) {
        seen += 1;
        broken += faultsOf(run).length > 0 && isMarked(run);
      }
    }
    const from = Math.floor(LABEL + (step - zoom[0]) * wide);
    const to = Math.max(from + 1, Math.floor(LABEL + (step + 1 - zoom[0]) * wide));
    for (let x = from; x < to && x < sums.length; x++) {
      sums[x] = Math.max(sums[x], broken);
      tried[x] = Math.max(tried[x], seen);
    }
    most = Math.max(most, broken);
  }
  pen.fillStyle = color("failed");
  for (let x = 0; x < sums.length; x++) {
    const part = tried[x] ? (sums[x] / tried[x]) * high : 0;
    if (part) pen.fillRect(x, SUMS - Math.max(2, part), 1, Math.max(2, part));
  }
  pen.fillStyle = color("dim");
  pen.font = "11px system-ui, sans-serif";
  const of = rows.length === 1 ? "" : ` of ${rows.length} orders`;
  pen.fillText(most ? `broken in up to ${most}${of}` : "nothing broke", LABEL + 4, 11);
}
function paintCells() {
  const high = lineHeight();
  const [pen, width] = prepared(byId("cells"), high * rows.length);
  const wide = perStep(width);
  pen.font = `${Math.min(11, high)}px system-ui, sans-serif`;
  pen.textBaseline = "middle";
  const gap = wide >= 4 ? 1 : 0, inset = high >= 8 ? 1 : 0;
  rows.forEach((row, line) => {
    const y = line * high;
    if (high >= 9 || line % 5 === 0) {
      pen.globalAlpha = 1;
      pen.fillStyle = color("dim");
      pen.textAlign = "right";
      pen.fillText(row.seed, LABEL - 18, y + high / 2);
    }
    if (row.whole >= 0) {
      const bad = faultsOf({outcome: row.whole}).length > 0;
      pen.globalAlpha = bad ? 1 : 0.6;
      pen.fillStyle = color(bad ? "failed" : "done");
      pen.fillRect(LABEL - 13, y + inset, 8, high - 2 * inset);
    }
    const columns = columnsOf(line, wide, width);
    for (const [x, cell] of columns) {
      pen.globalAlpha = cell[2];
      pen.fillStyle = cell[1];
      const least = cell[0] === 4 ? 0 : inset;
      pen.fillRect(x, y + least, Math.max(1, wide - gap), high - 2 * least);
    }
  });
  pen.globalAlpha = 1;
  if (chosen) {
    const x = chosen.step < 0 ? LABEL - 13 : LABEL + (chosen.step - zoom[0]) * wide;
    if (chosen.step < 0 || (x >= LABEL - 1 && x < width)) {
      pen.strokeStyle = color("front");
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, chosen.line * high, chosen.step < 0 ? 10 : Math.max(6, wide + 1), high);
    }
  }
  if (dragged) {
    pen.fillStyle = color("request");
    pen.globalAlpha = 0.2;
    pen.fillRect(Math.min(...dragged), 0, Math.abs(dragged[1] - dragged[0]), high * rows.length);
  }
}
function columnsOf(line, wide, width) {
  const columns = new Map();
  for (let step = zoom[0]; step < zoom[1]; step++) {
    const run = runAt({line, step});
    if (!run) continue;
    const exact = LABEL + (step - zoom[0]) * wide;
    const x = wide < 1 ? Math.floor(exact) : exact;
    const look = lookOf(run), before = columns.get(x);
    if (x < width && (!before || before[0] < look[0])) columns.set(x, look);
  }
  return columns;
}
function paintAxis() {
  const [pen, width] = prepared(byId("axis"), AXIS);
  const wide = perStep(width), shown = zoom[1] - zoom[0];
  const rough = Math.max(1, shown / Math.max(2, (width - LABEL) / 90));
  const power = 10 ** Math.floor(Math.log10(rough));
  const every = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
  pen.fillStyle = color("dim");
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.fillText("seed", LABEL - 18, 12);
  pen.textAlign = "center";
  for (let step = Math.ceil(zoom[0] / every) * every; step < zoom[1]; step += every) {
    pen.fillText(step ? count(step) : "step 0", Math.max(LABEL + 18, Math.min(LABEL + (step - zoom[0] + 0.5) * wide, width - 16)), 12);
  }
}

// Pointing and dragging

let dragged = null;
function cellAt(event) {
  const width = byId("cells").clientWidth;
  const line = Math.floor(event.offsetY / lineHeight());
  if (line < 0 || line >= rows.length) return null;
  if (event.offsetX < LABEL) return rows[line].whole >= 0 ? {line, step: -1} : null;
  const wide = perStep(width);
  const from = zoom[0] + Math.floor((event.offsetX - LABEL) / wide);
  return worst(line, from, Math.max(from + 1, zoom[0] + Math.floor((event.offsetX + 1 - LABEL) / wide)));
}
// Of the steps that share a column, the one that is painted.
function worst(line, from, to) {
  let best = null, rank = -1;
  for (let step = from; step < to; step++) {
    const run = runAt({line, step});
    if (run && lookOf(run)[0] > rank) {
      rank = lookOf(run)[0];
      best = {line, step};
    }
  }
  return best;
}
function watchMap() {
  const canvas = byId("cells");
  canvas.onmousedown = event => { dragged = [event.offsetX, event.offsetX]; };
  canvas.onmousemove = event => {
    const at = cellAt(event);
    byId("hint").textContent = at ? runInWords(at) : "";
    if (dragged) {
      dragged[1] = event.offsetX;
      paintCells();
    }
  };
  canvas.onmouseup = event => {
    if (!dragged) return;
    const [a, b] = [Math.min(...dragged), Math.max(...dragged)].map(x => Math.max(LABEL, x));
    dragged = null;
    if (b - a > 4) {
      const wide = perStep(canvas.clientWidth), first = zoom[0];
      zoomTo(first + Math.floor((a - LABEL) / wide), first + Math.ceil((b - LABEL) / wide));
      return;
    }
    const at = cellAt(event);
    if (at) choose(at);
    else paintCells();
  };
  window.addEventListener("mouseup", () => {
    if (dragged) {
      dragged = null;
      paintCells();
    }
  });
  byId("map").onkeydown = event => walk(event);
}
function walk(event) {
  const by = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}[event.key];
  if (!by || !chosen) return;
  event.preventDefault();
  const at = {line: chosen.line + by[0], step: chosen.step + by[1]};
  if (rows[at.line] && at.step >= -1 && runAt(at)) choose(at);
}
function zoomTo(from, to) {
  zoom = [Math.max(0, from), Math.min(steps, Math.max(from + 1, to))];
  const whole = zoom[0] === 0 && zoom[1] === steps;
  byId("unzoom").hidden = whole;
  byId("zoomed").textContent = whole ? "drag to zoom" : `steps ${count(zoom[0])} to ${count(zoom[1] - 1)}`;
  paint();
}

// What broke, and where

function mark(what) {
  const same = marked && (marked.place ? marked.place === what.place : marked.check === what.check);
  marked = same ? null : what;
  fillTables();
  paint();
}
function fillTables() {
  byId("breaches").replaceChildren(...checks.map(checkItem));
  const text = byId("find").value.trim().toLowerCase();
  const wanted = places.filter(place => `${placeInWords(place)} ${place.who}`.toLowerCase().includes(text));
  const box = byId("places"), show = part => make("div", {}, ...part.map(placeItem));
  box.replaceChildren(show(wanted.slice(0, PLACES_MAX)));
  inParts(box, wanted, PLACES_MAX, show);
}
function checkItem(check) {
  const bad = check.runs > 0;
  const item = make("div", {className: `item${bad ? " bad" : ""}${marked && marked.check === check.name ? " chosen" : ""}`});
  item.append(make("div", {className: "top"},
    make("span", {className: "name dot", style: `--c:${color(bad ? "failed" : "done")}`, textContent: check.name}),
    make("span", {className: "count", textContent: bad ? `broke in ${plural(check.runs, "run")}` : "held"})));
  if (!bad) return item;
  const texts = [...check.faults].sort((a, b) => b[1] - a[1]);
  for (const [fault, times] of texts.slice(0, TEXTS_SHOWN)) {
    item.append(make("pre", {textContent: `${count(times)} × ${word(sheet.faults[fault][1])}`}));
  }
  if (texts.length > TEXTS_SHOWN) item.append(make("div", {className: "more", textContent: `and ${plural(texts.length - TEXTS_SHOWN, "other text")}`}));
  const first = make("a", {textContent: `first: ${runInWords(check.first).split(" — ")[0]}`});
  first.onclick = event => {
    event.stopPropagation();
    choose(check.first);
  };
  item.append(first);
  item.onclick = () => mark({check: check.name});
  return item;
}
function placeItem(place) {
  const bad = place.broken > 0;
  const item = make("div", {className: `item${bad ? " bad" : ""}${marked && marked.place === place ? " chosen" : ""}`});
  const told = bad ? `${count(place.broken)} of ${count(place.runs)} broken` : plural(place.runs, "run");
  item.append(make("div", {className: "top"},
    make("span", {className: "name dot", style: `--c:${colors[place.kind]}`, textContent: place.who}),
    make("span", {className: "count", textContent: told})));
  const source = place.frame >= 0 ? sheet.sources[place.frame] : [];
  if (source.length) {
    const line = sheet.frames[place.frame][1] - Number(source[0]) + 1;
    item.append(make("div", {className: "more", textContent: inWords(place.frame)}));
    item.append(make("pre", {textContent: (source[line] || "").trim()}));
  } else if (place.runtime >= 0) {
    item.append(make("div", {className: "more", textContent: `the runtime: ${inWords(place.runtime)}`}));
  }
  const first = make("a", {textContent: bad ? "first that broke" : "first"});
  first.onclick = event => {
    event.stopPropagation();
    choose(place.first);
  };
  item.append(first);
  item.onclick = () => mark({place});
  return item;
}

// One run

function choose(at) {
  chosen = at;
  if (at.step >= 0 && (at.step < zoom[0] || at.step >= zoom[1])) zoomTo(0, steps);
  history.replaceState(null, "", `#${rows[at.line].seed}/${at.step < 0 ? "none" : at.step}`);
  const run = runAt(at), box = byId("detail"), faults = faultsOf(run);
  box.hidden = false;
  box.replaceChildren(
    make("button", {className: "close", textContent: "close", onclick: close}),
    make("h2", {className: "dot", style: `--c:${color(faults.length ? "failed" : "done")}`,
      textContent: `seed ${rows[at.line].seed}, ${at.step < 0 ? "not cancelled" : `cancelled after step ${at.step}`}`}),
    make("div", {className: faults.length ? "bad-text" : "dim", textContent: faults.length ? `${plural(faults.length, "invariant")} broke` : "all invariants held"}),
    make("div", {className: "dim", textContent: ENDINGS[endingOf(run)]}),
    walkButtons(at),
    ...faults.map(faultBox),
    make("h3", {textContent: "this one run again"}), again(at),
    ...sceneParts(run),
    ...(at.step < 0 ? [] : [make("h3", {textContent: "the same step in every order"}), overSeeds(at.step)]));
  box.scrollTop = 0;
  paint();
}
const ENDINGS = {
  "cancelled": "the cancel ended the scenario",
  "finished": "the scenario came to its own end all the same",
  "not reached": "the scenario ended before this step",
  "left alone": "the scenario ran to its end",
};
function close() {
  byId("detail").hidden = true;
  chosen = null;
  history.replaceState(null, "", "#");
  paint();
}
function walkButtons(at) {
  const box = make("div", {className: "walk"});
  const button = (text, step, line) => {
    const to = {line, step};
    const there = rows[line] && step >= -1 && runAt(to) && runAt(to).outcome >= 0;
    box.append(make("button", {textContent: text, disabled: !there, onclick: () => choose(to)}));
  };
  button("◂ step", at.step - 1, at.line);
  button("step ▸", at.step + 1, at.line);
  const next = nextBroken(at);
  box.append(make("button", {textContent: "next broken", disabled: !next, onclick: () => choose(next)}));
  return box;
}
function nextBroken(at) {
  const total = rows.length * (steps + 1);
  const begin = at.line * (steps + 1) + at.step + 1;
  for (let k = 1; k < total; k++) {
    const place = (begin + k) % total;
    const to = {line: Math.floor(place / (steps + 1)), step: (place % (steps + 1)) - 1};
    const run = runAt(to);
    if (run && run.outcome >= 0 && faultsOf(run).length && isMarked(run)) return to;
  }
  return null;
}
function faultBox(fault) {
  const [name, text, frame] = sheet.faults[fault];
  return make("div", {className: "fault"}, make("b", {textContent: word(name)}),
    make("pre", {textContent: word(text)}),
    frame < 0 ? null : make("div", {className: "dim", textContent: `raised at ${inWords(frame)}`}),
    frame < 0 ? null : sourceBox(frame));
}
function again(at) {
  const text = `${data.command} --seed ${rows[at.line].seed} --steps ${at.step < 0 ? "none" : at.step}`;
  const button = make("button", {textContent: "copy"});
  button.onclick = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  };
  return make("div", {className: "again"}, make("pre", {textContent: text}),
    navigator.clipboard ? button : null);
}
function sceneParts(run) {
  if (run.scene < 0) return [];
  const [spot, others, open] = sheet.scenes[run.scene];
  const parts = [make("h3", {textContent: "where it stood"})];
  if (spot < 0) parts.push(make("div", {textContent: "before its first step"}));
  else parts.push(taskBox(spot, true));
  parts.push(make("h3", {textContent: "what was open"}));
  parts.push(open.length ? make("ul", {}, ...open.map(each => make("li", {textContent: word(each)}))) : make("div", {className: "dim", textContent: "nothing"}));
  if (others.length) {
    parts.push(make("h3", {textContent: `${plural(others.length, "other task")}`}));
    const box = make("div", {}), show = part => make("div", {}, ...part.map(each => taskBox(each, false)));
    box.append(show(others.slice(0, TASKS_MAX)));
    inParts(box, others, TASKS_MAX, show);
    parts.push(box);
  }
  return parts;
}
function taskBox(spot, isFirst) {
  const [kind, who, stack, runtime, waits] = sheet.spots[spot];
  const box = make("div", {className: isFirst ? "" : "task"});
  box.append(make("div", {className: "dot", style: `--c:${colors[word(kind)]}`, textContent: word(who)}));
  if (stack.length && isFirst) {
    for (const frame of stack.slice(0, -1)) box.append(make("div", {className: "dim", textContent: inWords(frame)}));
    box.append(make("div", {textContent: inWords(stack[stack.length - 1])}), sourceBox(stack[stack.length - 1]));
  } else if (stack.length) {
    box.append(make("div", {textContent: inWords(stack[stack.length - 1])}));
  }
  const waiting = [];
  if (runtime >= 0) waiting.push(`the runtime at ${inWords(runtime)}`);
  if (word(waits)) waiting.push(`in ${word(waits)}`);
  box.append(make("div", {className: "dim", textContent: waiting.length || stack.length ? waiting.join(", ") : "it has ended"}));
  return box;
}
function sourceBox(frame) {
  const [first, ...lines] = sheet.sources[frame];
  if (!lines.length) return null;
  const here = sheet.frames[frame][1];
  return make("div", {className: "source"}, ...lines.map((text, k) => make("pre", {
    className: Number(first) + k === here ? "here" : "",
    textContent: `${String(Number(first) + k).padStart(4)}  ${text}`})));
}
function overSeeds(step) {
  return make("div", {className: "over"}, ...rows.map((row, line) => {
    const run = runAt({line, step});
    if (!run) return null;
    const bad = faultsOf(run).length > 0;
    return make("button", {textContent: row.seed, title: runInWords({line, step}),
      className: `${bad ? "bad" : ""}${line === chosen.line ? " now" : ""}`,
      style: `--c:${run.scene < 0 ? color("line") : colors[placesOfScene[run.scene][0].kind]}`,
      onclick: () => choose({line, step})});
  }));
}

// The page

function fillHead() {
  byId("title").textContent = data.title;
  const broken = checks.filter(check => check.runs).length;
  byId("tiles").append(
    tile(count(sheet.runs), "runs"),
    tile(count(rows.length), rows.length === 1 ? "order" : "orders"),
    tile(count(sheet.steps), "steps at most"),
    tile(count(sheet.broken), sheet.broken === 1 ? "run broke" : "runs broke"),
    tile(`${broken} of ${checks.length}`, "invariants broken"),
    tile(inTime(data.seconds * 1000), "took"));
  byId("left").hidden = !data.left;
  byId("left").textContent = data.left || "";
}
function fillLegend() {
  const there = new Set(places.map(place => place.kind === "scenario" ? "run" : place.kind));
  const key = (tint, text) => byId("legend").append(make("span", {className: "key", style: `--c:${tint}`, textContent: text}));
  if (sheet.broken) key(color("failed"), "broken");
  for (const kind of Object.keys(TOLD).filter(each => there.has(each))) key(colors[kind], TOLD[kind]);
  key(color("line"), "pale: it ended all the same");
}
async function begin() {
  sheet = await unpack(0);
  read();
  fillHead();
  fillLegend();
  fillTables();
  watchMap();
  byId("unzoom").onclick = () => zoomTo(0, steps);
  byId("find").oninput = fillTables;
  window.onresize = paint;
  paint();
  const [seed, step] = location.hash.slice(1).split("/");
  const line = rows.findIndex(row => String(row.seed) === seed);
  const asked = {line, step: step === "none" ? -1 : Number(step)};
  if (line >= 0 && runAt(asked)) choose(asked);
}
begin();
