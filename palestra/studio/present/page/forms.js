// What a person answers: the self-report, sums, and when a rest is over. Each resolves when it is done.

import { element, fill, show } from "./element.js";

const MIDDLE = 5;

export function askSliders(panel, sliders, words) {
  return new Promise((resolve) => {
    const untouched = new Set(sliders.map(([name]) => name));
    const done = element("button", { type: "submit", disabled: true }, words.done);
    const touched = (name) => {
      untouched.delete(name);
      done.disabled = untouched.size > 0;
    };
    const rows = sliders.map(([name, title]) => slider(name, title || words.sliders[name] || name, words, touched));
    const form = element("form", { className: "sliders" }, element("h1", {}, words.report_title));
    form.append(element("p", {}, words.report_text), ...rows, done);
    form.onsubmit = (event) => {
      event.preventDefault();
      resolve(Object.fromEntries(new FormData(form).entries().map(([name, value]) => [name, Number(value)])));
    };
    show(panel, form);
  });
}

function slider(name, title, words, onTouch) {
  const input = element("input", { type: "range", name, min: 0, max: 10, step: 0.1, value: MIDDLE, className: "untouched" });
  const touch = () => {
    input.classList.remove("untouched");
    onTouch(name);
  };
  input.addEventListener("pointerdown", touch);
  input.addEventListener("keydown", (event) => event.key !== "Tab" && touch());
  input.addEventListener("input", touch);
  const [low, high] = words.ends[name] ?? words.ends.any;
  const scale = element("span", { className: "scale" }, element("small", {}, low), input, element("small", {}, high));
  return element("label", {}, element("span", {}, title), scale);
}

export function askRest(panel, seconds, words) {
  return new Promise((resolve) => {
    const go = element("button", { type: "button", disabled: true, onclick: resolve }, words.go_on);
    const left = element("p", { className: "large", role: "timer" });
    show(panel, element("h1", {}, words.rest_title), element("p", {}, words.rest_text), left, go);
    const end = performance.now() + seconds * 1000;
    const tell = () => {
      const rest = Math.ceil((end - performance.now()) / 1000);
      left.textContent = rest > 0 ? fill(words.seconds, { count: rest }) : words.rest_over;
      go.disabled = rest > 0;
      if (rest > 0) setTimeout(tell, 200);
      else go.focus();
    };
    tell();
  });
}

export async function askSums(panel, sums, words, onAnswer) {
  for (const [i, [one, sign, other]] of sums.entries()) {
    const given = await askSum(panel, `${one} ${sign} ${other} =`, fill(words.sum_of, { i: i + 1, count: sums.length }), words);
    onAnswer({ sum: i, given, right: given === (sign === "+" ? one + other : one - other) });
  }
}

function askSum(panel, text, place, words) {
  return new Promise((resolve) => {
    const input = element("input", { type: "text", inputMode: "numeric", autocomplete: "off", required: true, autofocus: true });
    Object.assign(input, { pattern: "-?[0-9]{1,4}", title: words.sum_help });
    const asked = element("label", { className: "large" }, `${text} `, input);
    const form = element("form", { className: "sums" }, element("h1", {}, words.sums_title), element("p", {}, place));
    form.append(asked, element("button", { type: "submit" }, words.next));
    form.onsubmit = (event) => {
      event.preventDefault();
      resolve(Number(input.value));
    };
    show(panel, form);
  });
}
