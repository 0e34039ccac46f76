// Rows of the big screen move to their new places instead of jumping there, and where there are more than fit, pages of
// them take turns.
"use strict";
(() => {
  const MOVE_MS = 900, TURN_MS = 12_000;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let before = new Map();
  let page = 0;

  const all = () => [...document.querySelectorAll("#screen tbody tr[data-team]")];
  const rows = () => all().filter((row) => !row.hidden);
  const tops = () => new Map([...rows()].map((row) => [row.dataset.team, row.getBoundingClientRect().top]));

  const appear = (row) => row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });

  // What the server sends has its first page open.
  function show() {
    const where = document.querySelector("#screen [data-page]");
    const table = document.querySelector("#screen .ladder");
    if (!where || !table) return;
    const found = all(), length = Number(table.dataset.rows);
    const pages = Math.ceil(found.length / length);
    page %= pages;
    found.forEach((row, place) => { row.hidden = Math.floor(place / length) !== page; });
    where.textContent = where.dataset.page.replace("[number]", page + 1).replace("[count]", pages);
  }

  function turn() {
    if (!document.querySelector("#screen [data-page]")) return;
    page += 1;
    show();
    if (!still.matches) rows().forEach(appear);
  }
  setInterval(turn, TURN_MS);

  document.addEventListener("htmx:sseBeforeMessage", () => { before = tops(); });

  document.addEventListener("htmx:sseMessage", () => {
    const earlier = before;
    before = new Map();
    show();
    if (still.matches) return;
    for (const row of rows()) {
      const from = earlier.get(row.dataset.team);
      if (from === undefined) {
        if (earlier.size) appear(row);
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
