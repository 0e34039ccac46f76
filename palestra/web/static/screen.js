// Rows of the big screen move to their new places instead of jumping there. Nothing is kept between two updates.
"use strict";
(() => {
  const MOVE_MS = 900;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let before = new Map();

  const rows = () => document.querySelectorAll("#screen tbody tr[data-team]");
  const tops = () => new Map([...rows()].map((row) => [row.dataset.team, row.getBoundingClientRect().top]));

  document.addEventListener("htmx:sseBeforeMessage", () => { before = tops(); });

  document.addEventListener("htmx:sseMessage", () => {
    const earlier = before;
    before = new Map();
    if (still.matches) return;
    for (const row of rows()) {
      const from = earlier.get(row.dataset.team);
      if (from === undefined) {
        if (earlier.size) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
        continue;
      }
      const by = from - row.getBoundingClientRect().top;
      if (Math.abs(by) < 1) continue;
      row.style.zIndex = by > 0 ? "1" : "0"; // who rises passes in front
      row.style.position = "relative";
      row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: MOVE_MS, easing: "cubic-bezier(0.3, 0, 0.1, 1)" });
    }
  });

  // A hall's screen must not go dark; browsers let go of the lock when the page is hidden.
  async function stayAwake() {
    if (!("wakeLock" in navigator) || document.visibilityState !== "visible") return;
    try { await navigator.wakeLock.request("screen"); } catch (error) { console.info("The screen may go dark by itself:", error.message); }
  }
  document.addEventListener("visibilitychange", stayAwake);
  document.addEventListener("DOMContentLoaded", stayAwake);
})();
