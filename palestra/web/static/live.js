// Says when the connection to the server is lost, and takes it back when it returns.
"use strict";
(() => {
  const PATIENCE_MS = 1500; // a short hiccup is not worth a word
  let waiting = 0;
  let missed = false; // whether something may have been missed while it was away

  const box = () => document.getElementById("connection");

  function lost() {
    if (waiting || box().textContent) return;
    waiting = setTimeout(() => { waiting = 0; missed = true; box().textContent = box().dataset.lost; }, PATIENCE_MS);
  }

  function back() {
    clearTimeout(waiting);
    waiting = 0;
    box().textContent = "";
    if (missed) document.dispatchEvent(new Event("palestra:back"));
    missed = false;
  }

  // What was sent last is kept as text: the next message may say only what changes in it, as lines of it by their
  // numbers and lines that are new.
  const texts = new WeakMap();
  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const target = event.target, said = event.detail;
    event.preventDefault();
    if (said.type.endsWith("-change")) {
      const before = (texts.get(target) || "").split("\n");
      const lines = JSON.parse(said.data).flatMap((part) => typeof part === "string" ? [part] : before.slice(part[0], part[0] + part[1]));
      texts.set(target, lines.join("\n"));
    } else texts.set(target, said.data);
    if (pressed && target.contains(pressed)) waits.set(target, said); else draw(target, said);
  });

  // A button that is swapped away between press and release would never be clicked: what comes meanwhile waits.
  let pressed = null;
  const waits = new Map();
  document.addEventListener("pointerdown", (event) => { pressed = event.target; });
  for (const kind of ["pointerup", "pointercancel"])
    window.addEventListener(kind, () => setTimeout(() => {
      pressed = null;
      for (const [target, said] of waits) draw(target, said);
      waits.clear();
    }));

  // What somebody has typed, ticked, opened or begun to type outlives its being drawn anew.
  function draw(target, said) {
    const before = fields(target), focused = document.activeElement;
    htmx.swap(target, texts.get(target), { swapStyle: htmx.config.defaultSwapStyle });
    for (const [name, now] of fields(target)) if (before.has(name)) keep(before.get(name), now, focused);
    htmx.trigger(target, "htmx:sseMessage", said);
  }

  function keep(was, now, focused) {
    if (now.tagName === "DETAILS") now.open = was.open;
    else if (now.type === "checkbox" || now.type === "radio") now.checked = was.checked;
    else if (was.value !== written(was)) now.value = was.value;
    if (was !== focused) return;
    now.focus({ preventScroll: true });
    if (now.selectionEnd != null) now.setSelectionRange(was.selectionStart, was.selectionEnd);
  }

  // What the page itself had written into a field.
  const written = (field) => field.tagName === "SELECT" ? [...field.options].find((one) => one.defaultSelected)?.value ?? field.options[0]?.value : field.defaultValue;

  // Fields and what can be opened, by names that they have in every drawing: what the form does, to what, and how manieth.
  const SENT = ["csrf", "once", "next", "page"]; // with every form, whatever it does
  function fields(target) {
    const found = new Map();
    for (const one of target.querySelectorAll("input:not([type=hidden], [type=file]), select, textarea, details")) {
      const form = one.closest("form"), hidden = [...form?.querySelectorAll("input[type=hidden]") ?? []];
      const about = hidden.filter((field) => !SENT.includes(field.name)).map((field) => [field.name, field.value]);
      const kind = one.tagName === "DETAILS" ? one.querySelector("summary").textContent : [one.type, one.name];
      const name = JSON.stringify([form?.getAttribute("action"), about, kind]);
      let which = 0;
      while (found.has(name + which)) which += 1;
      found.set(name + which, one);
    }
    return found;
  }

  document.addEventListener("htmx:sseError", lost);
  document.addEventListener("htmx:sseOpen", back);
  document.addEventListener("palestra:lost", lost);
  document.addEventListener("palestra:open", back);
  window.addEventListener("offline", lost);

  // What is sent live is the same for all who read it, so a form in it has neither the sign of this browser yet nor a
  // number by which it is done once. The number is the page's: a second click may hit the form that was swapped in for
  // the one of the first, and after what was done another page is loaded.
  document.addEventListener("submit", (event) => {
    for (const [field, meta] of [["csrf", "csrf-token"], ["once", "once"]]) {
      const input = event.target.querySelector(`input[name="${field}"]`);
      if (input && !input.value) input.value = document.querySelector(`meta[name="${meta}"]`).content;
    }
  });

  // A table that was swapped is told of in a few words: reading it out whole each time would bury a listener.
  document.addEventListener("htmx:sseMessage", (event) => {
    const said = document.getElementById("said");
    if (!said || !event.target.matches("[data-say]")) return;
    const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
    said.textContent = document.body.dataset.updated.replace("[time]", time);
  });
})();
