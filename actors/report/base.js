"use strict";
// What every page is made of. Texts reach a page through textContent alone.

const data = JSON.parse(byId("data").textContent);
const style = getComputedStyle(document.documentElement);
const color = name => style.getPropertyValue("--" + name).trim() || "#888";

function byId(id) { return document.getElementById(id); }

function make(tag, settings, ...inner) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings || {})) {
    if (name === "style") made.style.cssText = value;
    else made[name] = value;
  }
  made.append(...inner.filter(each => each !== null));
  return made;
}

// Numbers for people

function inTime(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  const m = Math.floor(s / 60), h = Math.floor(m / 60);
  const two = n => String(n).padStart(2, "0");
  return h ? `${h}:${two(m % 60)}:${two(Math.floor(s % 60))}` : `${m}:${two(Math.floor(s % 60))}`;
}
function inCount(n) {
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  return n >= 1e4 ? `${(n / 1e3).toFixed(1)} k` : n.toLocaleString("en");
}
function dateOf(seconds) { return new Date(seconds * 1000).toLocaleString(); }

// Pictures

function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return [pen, width];
}

// Long lists

function inParts(box, all, size, show) {
  let done = size;
  if (all.length <= done) return;
  const button = make("button", {});
  const say = () => { button.textContent = `${(all.length - done).toLocaleString("en")} more`; };
  button.onclick = () => {
    box.insertBefore(show(all.slice(done, done + 10 * size)), button);
    done += 10 * size;
    if (done >= all.length) button.remove();
    else say();
  };
  say();
  box.append(button);
}

// Packed parts

const unpacked = new Map();
async function unpack(number) {
  if (!unpacked.has(number)) {
    const text = atob(byId(`h${number}`).textContent);
    const bytes = Uint8Array.from(text, character => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    unpacked.set(number, await new Response(stream).json());
  }
  return unpacked.get(number);
}

// Numbers that stand out

function tile(value, name) {
  return make("div", {className: "tile"}, make("b", {textContent: value}), make("span", {textContent: name}));
}
