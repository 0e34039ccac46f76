// A run from its first page to its last.

import { Block } from "./block.js";
import { element, fill, show } from "./element.js";
import { Film } from "./film.js";
import { Frames } from "./frames.js";
import { Link } from "./link.js";
import { Stage } from "./stage.js";

const ASPECT = 0.01; // by which a window may differ from the screen before it is said
const setup = await (await fetch("/setup.json")).json();
const { plan, words, language } = setup;
const byId = (id) => document.getElementById(id);
const [panel, dialog, banner] = [byId("panel"), byId("pause"), byId("banner")];
document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
document.title = words.title;

const stage = new Stage(byId("stage"), plan);
const frames = new Frames();
const film = new Film(byId("film"), setup.captioned);
const link = new Link(setup.run, told);
let block = null; // the one that is shown
let isStarted = false; // from full screen on
let isOver = false;
let isAnswered = true; // what the dialog asks

function told(state) {
  if (state === "open") return (banner.hidden = true);
  banner.textContent = { closed: words.lost, replaced: words.replaced, other: words.other }[state] ?? state;
  banner.hidden = false;
  if (state === "replaced" || state === "other") ask("replaced", words[state]);
  else if (state !== "closed") ask("trouble", state);
}

function button(text, onclick, fields = {}) {
  return element("button", { type: "button", onclick, ...fields }, text);
}

// Resolves when the person presses the button or the space bar.
function pressed(title, text, label, ...more) {
  return new Promise((resolve) => {
    const go = button(label, resolve, { autofocus: true });
    show(panel, element("h1", {}, title), element("p", {}, text), ...more, go);
  });
}

async function fullScreen() {
  try {
    await document.documentElement.requestFullscreen({ navigationUI: "hide" });
  } catch (error) {
    link.report("trouble", { values: { why: `no full screen: ${error.message}` } });
  }
  await new Promise((resolve) => setTimeout(resolve, 300)); // until the window has its size
  stage.fit();
}

function screenReport() {
  const values = {
    ...{ width_px: innerWidth, height_px: innerHeight, pixel_ratio: devicePixelRatio, period_ms: frames.period },
    ...{ screen_width_px: screen.width, screen_height_px: screen.height },
    ...{ is_full_screen: document.fullscreenElement !== null, is_isolated: crossOriginIsolated },
    browser: navigator.userAgent,
  };
  link.report("screen", { values });
}

// What a person who set this up should know before it begins.
function warnings() {
  const found = [];
  const { width_mm, height_mm, width_px, height_px } = plan.screen;
  const [wide, high] = [innerWidth, innerHeight].map((side) => Math.round(side * devicePixelRatio));
  if (Math.abs(wide / high / (width_mm / height_mm) - 1) > ASPECT) {
    found.push(fill(words.warn_aspect, { wide, high, width_mm, height_mm }));
  }
  if ((width_px && width_px !== wide) || (height_px && height_px !== high)) {
    found.push(fill(words.warn_pixels, { wide, high, width_px: width_px ?? "?", height_px: height_px ?? "?" }));
  }
  if (!document.fullscreenElement) found.push(words.warn_window);
  return found.map((text) => element("p", { className: "warning" }, text));
}

function minutes(seconds) {
  return seconds < 90 ? fill(words.seconds, { count: Math.round(seconds) }) : fill(words.minutes, { count: Math.round(seconds / 60) });
}

function blockList(first) {
  const rows = plan.blocks.map((one, i) => {
    const name = one.title || words.kinds[one.kind].title;
    return element("li", { className: i < first ? "past" : "" }, `${name} · ${minutes(one.length_s)}`);
  });
  return element("ol", {}, ...rows);
}

async function showBlock(index, from) {
  const { kind, title } = plan.blocks[index];
  const known = words.kinds[kind];
  const place = fill(words.block_of, { i: index + 1, count: plan.blocks.length });
  await pressed(title || known.title, known.text, words.begin, element("p", { className: "quiet" }, `${place} · ${words.keys}`), ...warnings());
  show(panel);
  document.body.classList.remove("pointing");
  block = new Block(index, { plan, words, language, stage, frames, link, film, panel });
  block.onTrouble = (number, why) => ask("trouble", fill(words.film_trouble, { number, why }));
  await block.run(from);
  block = null;
  document.body.classList.add("pointing");
}

// The one dialog: paused, or whether to end.
function ask(why, text = "") {
  if (why !== "end" || !dialog.open) block?.pause(why);
  isAnswered = false;
  const title = { end: words.end_title, trouble: words.trouble_title, replaced: words.title }[why] ?? words.paused_title;
  const explained = text || (why === "end" ? words.end_text : words.paused_text);
  const goOn = button(words.go_on, resume, { autofocus: true });
  const end = button(why === "end" ? words.end_now : words.end, why === "end" ? abort : () => ask("end"), { className: "other" });
  const buttons = why === "replaced" ? [] : [goOn, end];
  dialog.replaceChildren(element("h1", {}, title), element("p", {}, explained), ...buttons);
  document.body.classList.add("pointing");
  if (!dialog.open) dialog.showModal();
  goOn.focus();
}

// Whatever else closes it, such as Escape pressed twice, answers nothing.
dialog.addEventListener("cancel", (event) => event.preventDefault());
dialog.addEventListener("close", () => isAnswered || dialog.showModal());

function answered() {
  isAnswered = true;
  dialog.close();
}

async function resume() {
  answered();
  if (!document.fullscreenElement && isStarted) await fullScreen();
  document.body.classList.toggle("pointing", !block || block.isForm);
  block?.resume();
}

async function abort() {
  answered();
  block?.stop();
  block = null;
  link.report("aborted");
  await link.settled();
  await leave(words.aborted_title, words.aborted_text);
}

async function leave(title, text) {
  isOver = true;
  link.end();
  if (document.fullscreenElement) await document.exitFullscreen();
  document.body.classList.add("pointing");
  const count = fill(words.dropped, { count: frames.dropped });
  show(panel, element("h1", {}, title), element("p", {}, text), element("p", { className: "quiet" }, count));
}

addEventListener("keydown", (event) => {
  if (isOver || event.repeat || event.target.matches?.("input")) return;
  if (event.code === "Space" && block?.isTimed) {
    event.preventDefault();
    ask("key");
  } else if (event.code === "Escape" && isStarted) {
    event.preventDefault();
    ask("end");
  }
});
document.addEventListener("fullscreenchange", () => {
  if (!document.fullscreenElement && isStarted && !isOver && !dialog.open) ask("end"); // Escape leaves full screen
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden && block && !dialog.open) ask("hidden", words.hidden_text);
});

document.body.classList.add("pointing");
const { next, finished } = await link.where();
const first = plan.blocks.findIndex((one) => next < one.first + one.events);
if (finished) {
  await leave(words.finished_title, words.finished_text);
} else {
  const title = next ? words.again_title : words.title;
  const size = fill(words.screen, plan.screen);
  await pressed(title, words.welcome, words.full_screen, blockList(first), element("p", { className: "quiet" }, size));
  await fullScreen();
  isStarted = true;
  show(panel, element("p", {}, words.measuring));
  await frames.measure();
  screenReport();
  for (let i = first; first >= 0 && i < plan.blocks.length; i++) {
    await showBlock(i, i === first ? next : plan.blocks[i].first);
    if (isOver) break;
  }
  if (!isOver) {
    link.report("finished");
    await link.settled();
    await leave(words.finished_title, words.finished_text);
  }
}
