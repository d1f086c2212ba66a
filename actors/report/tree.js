// 1. What agents said reaches the page through textContent alone, never as markup.
// 2. Only the rows in sight are in the page, however many there are.
// 3. Nothing here recurses: a tree may be a thousand levels deep.

const words = data.words;
const agents = data.agents;
const KINDS = ["request", "tool", "child", "node", "human", "wait"];
const TOLD = {request: "model", tool: "tool", child: "waits for a subagent",
  node: "graph node", human: "waits for a person", wait: "waits to ask again"};
const STATUSES = ["failed", "damaged", "missing", "cut off", "cancelled", "stopped", "done"];
const ROW = 24;            // pixels, as in the style
const GROUP_MIN = 60;      // more siblings than fit on a screen are shown as groups
const OPEN_MAX = 20;       // so many that went wrong are shown at once, below their group
const STEPS_MAX = 200;     // spans of one agent shown at first
const ENTRIES_MAX = 400;   // entries of one history shown at first
const colors = Object.fromEntries(KINDS.map(kind => [kind, color(kind)]));

function inDollars(cost) {
  if (cost === null) return "?";
  return cost ? `$${cost < 1 ? cost.toFixed(4) : cost.toFixed(2)}` : "-";
}

// Usage: [requests, read, written, cached, cost]; a cost that is unknown is null

const NOTHING = [0, 0, 0, 0, 0];
function add(a, b) {
  if (!b.length) return a;
  return a.map((n, k) => (n === null || b[k] === null ? null : n + b[k]));
}
const tokensOf = usage => usage[1] + usage[2] + usage[3];

// The tree

const roots = [];
agents.forEach((agent, i) => {
  agent.kids = [];
  agent.total = agent.total.length ? agent.total : NOTHING;
  agent.agent = words[agent.name];
  agent.state = words[agent.status];
  agent.t0 = agent.runs.length ? agent.runs[0][0] : 0;
  agent.t1 = agent.runs.length ? agent.runs[agent.runs.length - 1][1] : 0;
  agent.ms = agent.runs.reduce((sum, run) => sum + run[1] - run[0], 0);
  agent.depth = agent.up < 0 ? 0 : agents[agent.up].depth + 1;
  (agent.up < 0 ? roots : agents[agent.up].kids).push(i);
});
function* below(i) {
  const todo = [i];
  while (todo.length) {
    const now = todo.pop();
    yield now;
    for (const kid of agents[now].kids) todo.push(kid);
  }
}
function byModel(members) {
  const sums = new Map();
  for (const i of members) {
    for (const [model, ...usage] of agents[i].own) {
      sums.set(model, add(sums.get(model) || NOTHING, usage));
    }
  }
  return [...sums].sort((a, b) => tokensOf(b[1]) - tokensOf(a[1]) || b[1][0] - a[1][0]);
}

// What is shown

const open = new Set();
const off = new Set();
let zoom = [0, Math.max(1, data.length)];
let chosen = -1;
let shown = [];
let view = [];

function isWanted(agent, text) {
  if (off.has(agent.state)) return false;
  if (zoomed() && (agent.t1 < zoom[0] || agent.t0 > zoom[1])) return false;
  return !text || `${agent.id} ${agent.agent} ${agent.title}`.toLowerCase().includes(text);
}
function zoomed() { return zoom[0] > 0 || zoom[1] < data.length; }

const ORDERS = {
  order: null,
  seconds: i => agents[i].ms,
  turns: i => agents[i].turns,
  tokens: i => tokensOf(agents[i].total),
  cost: i => agents[i].total[4] || 0,
};
function sorted(list) {
  const by = ORDERS[byId("sort").value];
  return by ? [...list].sort((a, b) => by(b) - by(a)) : list;
}
function grouped(list, depth, key) {
  const groups = new Map();
  for (const i of list) {
    const name = `${agents[i].state}\n${agents[i].agent}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(i);
  }
  const rank = name => STATUSES.indexOf(name.split("\n")[0]);
  return [...groups].sort((a, b) => rank(a[0]) - rank(b[0])).map(([name, members]) => ({
    key: `${key}/${name}`, depth, members,
    state: name.split("\n")[0], agent: name.split("\n")[1],
  }));
}
function items(list, depth, key) {
  const wanted = list.filter(i => shown[i]);
  if (byId("grouped").checked && wanted.length > GROUP_MIN) {
    return grouped(wanted, depth, key);
  }
  return sorted(wanted).map(i => ({i, depth}));
}
function refresh() {
  const text = byId("find").value.trim().toLowerCase();
  shown = agents.map(agent => isWanted(agent, text));
  for (let i = agents.length - 1; i >= 0; i--) {   // children stand behind parents
    if (shown[i] && agents[i].up >= 0) shown[agents[i].up] = true;
  }
  view = [];
  const todo = items(roots, 0, "").reverse();
  while (todo.length) {
    const item = todo.pop();
    view.push(item);
    if (item.members) {
      if (open.has(item.key)) {
        for (const i of sorted(item.members).reverse()) todo.push({i, depth: item.depth + 1});
      }
    } else if (open.has(item.i)) {
      todo.push(...items(agents[item.i].kids, item.depth + 1, item.i).reverse());
    }
  }
  densities.clear();
  byId("space").style.height = `${view.length * ROW}px`;
  paintRows();
  paintActivity();
}

// Rows

function paintRows() {
  const box = byId("rows"), pool = byId("pool");
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 2);
  const last = Math.min(view.length, first + Math.ceil(box.clientHeight / ROW) + 4);
  pool.style.top = `${first * ROW}px`;
  pool.replaceChildren(...view.slice(first, last).map(rowOf));
  view.slice(first, last).forEach((item, n) => {
    paintBar(pool.children[n].children[1], item);
  });
}
function rowOf(item) {
  const isGroup = Boolean(item.members);
  const agent = isGroup ? null : agents[item.i];
  const key = isGroup ? item.key : item.i;
  const more = isGroup || agent.kids.length > 0;
  const twist = make("span", {className: "twist", textContent: more ? (open.has(key) ? "▾" : "▸") : ""});
  const who = make("span", {className: "who dot",
    style: `padding-left:${Math.min(item.depth, 12) * 14}px;--c:${color(statusColor(isGroup ? item.state : agent.state))}`});
  const sum = isGroup ? groupSum(item) : agent;
  if (isGroup) {
    who.append(twist, `${item.members.length.toLocaleString("en")} × ${item.agent}, ${item.state} `);
    who.append(make("small", {textContent: `median ${inTime(sum.median)}`}));
    who.title = `median ${inTime(sum.median)}, longest ${inTime(sum.longest)}`;
  } else {
    const kids = agent.kids.length ? ` (${agent.kids.length.toLocaleString("en")})` : "";
    who.append(twist, agent.agent === "-" ? agent.id : agent.agent);
    who.append(make("small", {textContent: `${kids}  ${shortId(agent)} ${agent.title}`}));
    who.title = `${agent.id}\n${agent.title}\n${agent.state}: ${agent.why}`;
  }
  const row = make("div", {className: `row${isGroup ? " group" : ""}${!isGroup && item.i === chosen ? " chosen" : ""}`},
    who, make("canvas", {height: ROW}),
    make("span", {textContent: inTime(sum.ms)}),
    make("span", {textContent: inCount(sum.turns)}),
    make("span", {textContent: inCount(tokensOf(sum.total))}),
    make("span", {textContent: inDollars(sum.total[4])}));
  row.onclick = event => {
    if (isGroup || event.target === twist) toggle(key);
    else choose(item.i);
  };
  return row;
}
function shortId(agent) { return agent.up < 0 || agent.id.length <= 24 ? agent.id : ""; }
function statusColor(state) {
  return {done: "done", stopped: "stopped", cancelled: "cancelled"}[state] || "failed";
}
function groupSum(item) {
  if (!item.sum) {
    const times = item.members.map(i => agents[i].ms).sort((a, b) => a - b);
    item.sum = {
      ms: times.reduce((a, b) => a + b, 0),
      median: times[times.length >> 1],
      longest: times[times.length - 1],
      turns: item.members.reduce((sum, i) => sum + agents[i].turns, 0),
      total: item.members.reduce((sum, i) => add(sum, agents[i].total), NOTHING),
    };
  }
  return item.sum;
}
function toggle(key) {
  if (!open.delete(key)) open.add(key);
  refresh();
}

// Bars

function scale(width) {
  const factor = width / (zoom[1] - zoom[0]);
  return ms => (ms - zoom[0]) * factor;
}
const densities = new Map();
function densityOf(item, width) {
  if (!densities.has(item.key)) {
    const steps = new Float64Array(width + 2), x = scale(width);
    for (const i of item.members) {
      for (const [begin, end] of agents[i].runs) {
        if (end < zoom[0] || begin > zoom[1]) continue;
        steps[Math.max(0, Math.floor(x(begin)))] += 1;
        steps[Math.min(width, Math.floor(x(end))) + 1] -= 1;
      }
    }
    sumUp(steps);
    densities.set(item.key, steps);
  }
  return densities.get(item.key);
}
function paintBar(canvas, item) {
  const [pen, width] = prepared(canvas, ROW);
  const x = scale(width);
  if (item.members) {
    const steps = densityOf(item, width);
    const most = steps.reduce((a, b) => Math.max(a, b), 1);
    pen.fillStyle = color(statusColor(item.state));
    for (let k = 0; k < width; k++) {
      const high = (steps[k] / most) * (ROW - 6);
      if (high > 0) pen.fillRect(k, ROW - 3 - Math.max(1, high), 1, Math.max(1, high));
    }
    return;
  }
  const agent = agents[item.i];
  pen.fillStyle = color("line");
  for (const [begin, end] of agent.runs) {
    pen.fillRect(x(begin), 8, Math.max(1, x(end) - x(begin)), 8);
  }
  for (const span of spansOf(agent)) {
    if (span.end < zoom[0] || span.start > zoom[1]) continue;
    const isChild = span.kind === "child";
    pen.fillStyle = colors[span.kind];
    pen.globalAlpha = isChild ? 0.45 : 1;
    pen.fillRect(x(span.start), isChild ? 10 : 6, Math.max(1, x(span.end) - x(span.start)), isChild ? 4 : 12);
    pen.globalAlpha = 1;
    if (isBad(span.outcome)) {
      pen.fillStyle = color("failed");
      pen.fillRect(x(span.end) - 1, 3, 2, 18);
    }
  }
  if (agent.state !== "done" && agent.runs.length) {
    pen.fillStyle = color(statusColor(agent.state));
    pen.font = "bold 12px sans-serif";
    pen.fillText(agent.state === "stopped" ? "■" : "✕", Math.min(width - 10, x(agent.t1) + 3), 16);
  }
}
function isBad(outcome) { return outcome !== "done"; }
function* spansOf(agent) {
  const flat = agent.spans;
  for (let k = 0; k < flat.length; k += 6) {
    yield {kind: words[flat[k]], start: flat[k + 1], end: flat[k + 1] + flat[k + 2],
      label: words[flat[k + 3]], outcome: words[flat[k + 4]], child: flat[k + 5]};
  }
}

// Activity: how many agents did what at each moment

let dragged = null;
function sumUp(steps) {
  for (let k = 1; k < steps.length; k++) steps[k] += steps[k - 1];
}
// Counts a stretch in the columns that it covers whole, and as a part where it ends.
function cover(steps, parts, from, to, width) {
  from = Math.max(0, from);
  to = Math.min(width, to);
  const first = Math.floor(from), last = Math.floor(to);
  if (first === last) {
    parts[first] += to - from;
    return;
  }
  parts[first] += first + 1 - from;
  parts[last] += to - last;
  steps[first + 1] += 1;
  steps[last] -= 1;
}
function paintActivity() {
  const canvas = byId("activity");
  const [pen, width] = prepared(canvas, 110);
  const high = 92, x = scale(width);
  const steps = Object.fromEntries(KINDS.map(kind => [kind, new Float64Array(width + 2)]));
  const parts = Object.fromEntries(KINDS.map(kind => [kind, new Float64Array(width + 2)]));
  agents.forEach((agent, i) => {
    if (!shown[i]) return;
    for (const span of spansOf(agent)) {
      if (span.end < zoom[0] || span.start > zoom[1]) continue;
      cover(steps[span.kind], parts[span.kind], x(span.start), x(span.end), width);
    }
  });
  const tops = new Float64Array(width);
  for (const kind of KINDS) {
    sumUp(steps[kind]);
    for (let k = 0; k < width; k++) tops[k] += steps[kind][k] += parts[kind][k];
  }
  const most = tops.reduce((a, b) => Math.max(a, b), 1);
  for (let k = 0; k < width; k++) {
    let y = high;
    for (const kind of KINDS) {
      const size = (steps[kind][k] / most) * (high - 14);
      pen.fillStyle = colors[kind];
      pen.fillRect(k, y - size, 1, size);
      y -= size;
    }
  }
  pen.fillStyle = color("dim");
  pen.font = "11px sans-serif";
  pen.fillText(`${Math.ceil(most).toLocaleString("en")} at once`, 4, 11);
  for (let k = 0; k <= 4; k++) {
    const ms = zoom[0] + ((zoom[1] - zoom[0]) * k) / 4;
    pen.textAlign = k === 0 ? "left" : k === 4 ? "right" : "center";
    pen.fillText(k === 0 && !zoomed() ? dateOf(startOf(0)) : inTime(ms), (width * k) / 4, 106);
  }
  pen.textAlign = "center";
  data.pieces.slice(1).forEach(([start, , at], n) => {
    const place = x(at), gap = start - data.pieces[n][1];
    pen.fillRect(place - 1, 14, 1, high - 14);
    pen.fillText(`${inTime(gap * 1000)} later`, place, 11);
  });
  if (dragged) {
    pen.fillStyle = color("request");
    pen.globalAlpha = 0.2;
    pen.fillRect(Math.min(...dragged), 0, Math.abs(dragged[1] - dragged[0]), 110);
    pen.globalAlpha = 1;
  }
}
function startOf(piece) { return data.pieces.length ? data.pieces[piece][0] : 0; }
function zoomTo(from, to) {
  zoom = [from, Math.max(from + 1, to)];
  byId("unzoom").hidden = !zoomed();
  byId("zoomed").textContent = zoomed() ? `${inTime(zoom[0])} to ${inTime(zoom[1])}` : "drag to zoom";
  refresh();
}
function watchDrag(canvas) {
  canvas.onmousedown = event => { dragged = [event.offsetX, event.offsetX]; };
  canvas.onmousemove = event => {
    if (dragged) { dragged[1] = event.offsetX; paintActivity(); }
  };
  window.addEventListener("mouseup", () => {
    if (!dragged) return;
    const [a, b] = [Math.min(...dragged), Math.max(...dragged)];
    dragged = null;
    const factor = (zoom[1] - zoom[0]) / canvas.clientWidth;
    if (b - a > 3) zoomTo(zoom[0] + a * factor, zoom[0] + b * factor);
    else paintActivity();
  });
}

// One agent

function choose(i) {
  chosen = i;
  const agent = agents[i], box = byId("detail");
  for (let k = i; k >= 0; k = agents[k].up) {
    const up = agents[k].up;
    open.add(`${up < 0 ? "" : up}/${agents[k].state}\n${agents[k].agent}`);
    if (up >= 0) open.add(up);
  }
  history.replaceState(null, "", `#${agent.id}`);
  box.hidden = false;
  box.replaceChildren(
    make("button", {className: "close", textContent: "close", onclick: () => { box.hidden = true; chosen = -1; refresh(); }}),
    make("h2", {className: "dot", style: `--c:${color(statusColor(agent.state))}`, textContent: `${agent.agent}  ${agent.state}`}),
    make("div", {className: "dim", textContent: agent.why}),
    crumbs(i),
    make("div", {textContent: agent.title}),
    make("h3", {textContent: "usage: its own requests"}), usageTable(byModel([i])),
    ...(agent.kids.length ? [make("h3", {textContent: "usage: with everything below it"}), usageTable(byModel(below(i)))] : []),
    make("h3", {textContent: `time: ${inTime(agent.ms)}${agent.runs.length > 1 ? ` in ${agent.runs.length} runs` : ""}`}),
    waterfall(agent), make("h3", {textContent: "history"}), make("div", {id: "history", textContent: "…"}));
  box.scrollTop = 0;
  refresh();
  bringInSight(view.findIndex(item => item.i === i && !item.members));
  showHistory(i);
}
function bringInSight(place) {
  const box = byId("rows"), top = place * ROW;
  if (place < 0) return;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
}
function crumbs(i) {
  const path = [];
  for (let k = i; k >= 0; k = agents[k].up) path.unshift(k);
  const line = make("div", {className: "dim"});
  const links = path.length > 8 ? [...path.slice(0, 3), null, ...path.slice(-4)] : path;
  links.forEach((k, n) => {
    if (n) line.append(" › ");
    line.append(k === null ? "…" : make("a", {textContent: agents[k].id, onclick: () => choose(k)}));
  });
  return line;
}
function usageTable(sums) {
  const heads = ["model", "requests", "read", "written", "cached", "cost"];
  const table = make("table", {}, make("tr", {}, ...heads.map(text => make("th", {textContent: text}))));
  for (const [model, usage] of sums) {
    const cells = [words[model], ...usage.slice(0, 4).map(inCount), inDollars(usage[4])];
    table.append(make("tr", {}, ...cells.map(text => make("td", {textContent: text}))));
  }
  return sums.length ? table : make("div", {className: "dim", textContent: "none"});
}
function waterfall(agent) {
  const box = make("div", {});
  const all = [...spansOf(agent)];
  const whole = Math.max(1, agent.t1 - agent.t0);
  const show = spans => {
    const rows = make("div", {className: "fall"});
    for (const span of spans) {
      const told = isBad(span.outcome) ? `${span.label}: ${span.outcome}` : span.label;
      const name = span.child >= 0
        ? make("a", {textContent: told, onclick: () => choose(span.child)})
        : make("span", {textContent: told});
      name.title = `${TOLD[span.kind]}: ${span.label}, ${span.outcome}`;
      const left = (100 * (span.start - agent.t0)) / whole;
      const wide = (100 * (span.end - span.start)) / whole;
      const bar = make("i", {className: isBad(span.outcome) ? "bad" : "",
        style: `left:${Math.min(left, 99.5)}%;width:${wide}%;--c:${colors[span.kind]}`});
      rows.append(name, make("span", {className: "bar"}, bar),
        make("span", {className: "took", textContent: inTime(span.end - span.start)}));
    }
    return rows;
  };
  box.append(show(all.slice(0, STEPS_MAX)));
  inParts(box, all, STEPS_MAX, show);
  return box;
}
// Histories

async function showHistory(i) {
  const histories = await unpack(Math.floor(i / data.chunk));
  if (chosen !== i) return;
  const entries = histories[i % data.chunk];
  const first = entries.length ? entries[0][0] : 0;
  const show = part => make("div", {}, ...part.map(([at, turn, kind, text]) =>
    make("div", {className: "entry"},
      make("span", {textContent: inTime((at - first) * 1000), title: dateOf(at)}),
      make("span", {textContent: kind, title: `turn ${turn}`}),
      make("pre", {textContent: text}))));
  const box = byId("history");
  box.replaceChildren(show(entries.slice(0, ENTRIES_MAX)));
  inParts(box, entries, ENTRIES_MAX, show);
}

// The page

function fillHead() {
  document.title = data.title;
  byId("title").textContent = data.title;
  const counts = new Map();
  agents.forEach(agent => counts.set(agent.state, (counts.get(agent.state) || 0) + 1));
  const total = roots.reduce((sum, i) => add(sum, agents[i].total), NOTHING);
  const active = data.pieces.reduce((sum, [start, end]) => sum + end - start, 0);
  const deepest = agents.reduce((most, agent) => Math.max(most, agent.depth), 0);
  byId("tiles").append(
    tile(agents.length.toLocaleString("en"), agents.length === 1 ? "agent" : "agents"),
    tile(roots.length.toLocaleString("en"), roots.length === 1 ? "root" : "roots"),
    tile(deepest.toLocaleString("en"), deepest === 1 ? "level below" : "levels below"),
    tile(inTime(active * 1000), "time at work"),
    tile(inCount(total[0]), "requests"),
    tile(inCount(tokensOf(total)), "tokens"),
    tile(inDollars(total[4]), "cost"));
  for (const state of STATUSES.filter(each => counts.has(each))) {
    const chip = make("button", {className: "chip dot", style: `--c:${color(statusColor(state))}`,
      textContent: `${state} ${counts.get(state).toLocaleString("en")}`});
    chip.onclick = () => {
      if (!off.delete(state)) off.add(state);
      chip.classList.toggle("off");
      refresh();
    };
    byId("statuses").append(chip);
  }
}
function fillLegend() {
  const there = new Set();
  agents.forEach(agent => { for (const span of spansOf(agent)) there.add(span.kind); });
  for (const kind of KINDS.filter(each => there.has(each))) {
    byId("legend").append(make("span", {className: "key", style: `--c:${colors[kind]}`, textContent: TOLD[kind]}));
  }
}
function moveChosen(event) {
  const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!by) return;
  event.preventDefault();
  let place = view.findIndex(item => item.i === chosen && !item.members) + by;
  while (view[place] && view[place].members) place += by;
  if (!view[place]) return;
  choose(view[place].i);
}
function begin() {
  fillHead();
  fillLegend();
  byId("usage").append(usageTable(byModel(agents.keys())));
  for (const text of ["agent", "time", "took", "turns", "tokens", "cost"]) {
    byId("columns").append(make("span", {textContent: text}));
  }
  if (roots.length === 1) open.add(roots[0]);
  shown = agents.map(() => true);
  const top = items(roots, 0, "");
  for (const item of top) {
    const few = item.members && item.members.length <= OPEN_MAX && item.state !== "done";
    if (item.members && (top.length === 1 || few)) open.add(item.key);
  }
  watchDrag(byId("activity"));
  byId("unzoom").onclick = () => zoomTo(0, data.length);
  byId("rows").onscroll = () => requestAnimationFrame(paintRows);
  byId("rows").onkeydown = moveChosen;
  byId("find").oninput = refresh;
  byId("sort").onchange = refresh;
  byId("grouped").onchange = refresh;
  window.onresize = refresh;
  refresh();
  const asked = agents.findIndex(agent => `#${agent.id}` === location.hash);
  if (asked >= 0) choose(asked);
}
begin();
