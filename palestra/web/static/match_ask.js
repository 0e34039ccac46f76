// Asks a person for what a step needs, says what it will cost, and sends it when they confirm.
"use strict";
(() => {
  const { el, say, told, outbox } = window.palestraMatch;
  const MANY = ["referees", "conflicts", "met", "cases"], LONG = ["reason", "text"], OWN = { appeal: "a", penalty: "p" };
  const OPTIONAL = ["conflicts", "met", "case", "seed"];
  const TYPED = ["seed"]; // also where nothing has been filled in
  const random = (letter) => `${letter}-${Math.random().toString(36).slice(2, 10)}`;

  const id = (name) => `ask-${name}`;

  function field(step, name) {
    const choices = step.choices?.[name], value = step.wish[name];
    if (name === "teams" || (name in OWN)) return null; // known already, or numbered by the page
    const label = say(`field_${name}`);
    if (name === "ran_ms") return line(name, label, { inputmode: "numeric", pattern: "[0-9]{1,2}:[0-5][0-9]", placeholder: "3:25", required: true });
    if (choices && MANY.includes(name)) return boxes(name, label, choices, value || []);
    if (name === "upheld") return radios(name, label, choices, "");
    if (choices && name === "case") return select(name, label, [{ value: "", label: { en: say("whole_turn") } }, ...choices], value || "");
    if (choices) return choices.length > 4 ? select(name, label, choices, value) : radios(name, label, choices, value ?? choices[0]?.value);
    if (LONG.includes(name)) return long(name, label);
    return line(name, label, { required: !OPTIONAL.includes(name) && name !== "points", value: name === "points" ? "1/10" : value || "" });
  }
  const wrapped = (name, label, input) => el("div", { class: "field" }, el("label", { for: id(name) }, label), input);
  const line = (name, label, more) => wrapped(name, label, el("input", { id: id(name), name, autocomplete: "off", maxlength: 200, ...more }));
  function long(name, label) {
    return wrapped(name, label, el("textarea", { id: id(name), name, rows: 2, maxlength: 1000, minlength: 3, required: true }));
  }
  function select(name, label, choices, value) {
    return wrapped(name, label, el("select", { id: id(name), name }, choices.map((one) => el("option", { value: one.value, selected: one.value === value }, told(one.label)))));
  }
  function group(label, inputs) { return el("fieldset", { class: "field" }, el("legend", {}, label), inputs); }
  function radios(name, label, choices, value) {
    return group(label, choices.map((one) => el("label", { class: "pick" }, el("input", { type: "radio", name, value: one.value, required: true, checked: one.value === value }), el("span", {}, told(one.label)))));
  }
  function boxes(name, label, choices, value) {
    return group(label, choices.map((one) => el("label", { class: "pick" }, el("input", { type: "checkbox", name, value: one.value, checked: value.includes(one.value) }), el("span", {}, told(one.label)))));
  }

  function answered(step, form) {
    const event = { ...step.wish, kind: step.kind };
    for (const name of step.needs || []) {
      if (name in OWN) event[name] = random(OWN[name]);
      else if (MANY.includes(name)) event[name] = [...form.querySelectorAll(`[name="${name}"]:checked`)].map((one) => one.value);
      else if (name !== "teams") {
        const given = form.elements[name]?.value ?? "";
        if (name === "upheld") event.upheld = given === "true";
        else if (name === "ran_ms") { const [minutes, seconds] = given.split(":").map(Number); event.ran_ms = (60 * minutes + seconds) * 1000; }
        else if (given || TYPED.includes(name)) event[name] = given.trim();
        else delete event[name];
      }
    }
    if (event.kind === "penalty.proposed" && event.what !== "points") delete event.points;
    return event;
  }

  // Opens a dialog; nothing happens until it is confirmed.
  function ask(step, { title = "", photo = "", instead = null } = {}) {
    const box = document.getElementById("ask");
    const name = told(step.label);
    const fields = instead || (step.needs || []).map((one) => field(step, one));
    const form = el("form", { method: "dialog" },
      el("h2", { id: "ask-title" }, title || name[0].toUpperCase() + name.slice(1)),
      step.wish.case ? el("p", { class: "soft" }, `${say("case")} ${step.wish.case}`) : "",
      el("p", { class: "cost" }, told(step.cost)),
      fields,
      el("div", { class: "buttons" },
        el("button", { type: "button", class: "big", onclick: () => box.close() }, say("back")),
        el("button", { type: "submit", class: `big ${["case.abandoned", "penalty.proposed", "turn.closed"].includes(step.kind) ? "danger" : "main"}` }, say("confirm"))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      box.close();
      outbox.add(answered(step, form), photo);
    });
    box.replaceChildren(form);
    box.setAttribute("aria-labelledby", "ask-title");
    box.showModal();
  }

  // Buttons on pages that the server makes: what they do is written on them.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-step]");
    if (!button) return;
    const step = JSON.parse(button.dataset.step);
    if (!step.needs.length && "at_once" in button.dataset) outbox.add({ ...step.wish, kind: step.kind });
    else ask(step, { title: button.textContent.trim() });
  });

  Object.assign(window.palestraMatch, { ask });
})();
