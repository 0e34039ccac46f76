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
    if (!said.type.endsWith("-change")) { texts.set(target, said.data); return; }
    event.preventDefault();
    const before = (texts.get(target) || "").split("\n");
    const lines = JSON.parse(said.data).flatMap((part) => typeof part === "string" ? [part] : before.slice(part[0], part[0] + part[1]));
    texts.set(target, lines.join("\n"));
    htmx.swap(target, lines.join("\n"), { swapStyle: htmx.config.defaultSwapStyle });
    htmx.trigger(target, "htmx:sseMessage", said);
  });

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
