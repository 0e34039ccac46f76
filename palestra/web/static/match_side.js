// Clocks on the pages of the head referee and of a team, which the server makes: it writes what a clock has run and since
// when it runs on.
"use strict";
(() => {
  const { clock, shown, elapsed } = window.palestraMatch;

  function tick() {
    const now = clock.now();
    for (const box of document.querySelectorAll("[data-ran]")) {
      const { ran, since, most, left } = box.dataset;
      const run = Math.min(elapsed({ ran_ms: Number(ran), since: since ? Number(since) : null }, now), Number(most || Infinity));
      const text = shown(left === undefined ? run : Math.max(Number(most) - run, 0));
      if (box.textContent !== text) box.textContent = text;
    }
  }
  setInterval(tick, 100);
  document.addEventListener("htmx:sseMessage", tick);
  document.addEventListener("htmx:sseError", () => window.palestraMatch.link.failed());
  document.addEventListener("htmx:sseOpen", () => window.palestraMatch.link.good());
  tick();
})();
