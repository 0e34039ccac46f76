// Marks who rose and who fell since the table of ranks was last different.
"use strict";
(() => {
  let shown = ""; // which table: another one has nothing to compare with
  let ranks = new Map(), moves = new Map(); // by team

  const table = () => document.querySelector("table[data-of]");
  const rows = () => [...(table()?.querySelectorAll("tr[data-rank]") ?? [])];

  function compare() {
    const now = new Map(rows().map((row) => [row.dataset.team, Number(row.dataset.rank)]));
    const of = table()?.dataset.of ?? "";
    const fresh = new Map();
    if (of === shown) for (const [team, rank] of now) if (ranks.has(team) && ranks.get(team) !== rank) fresh.set(team, ranks.get(team) - rank);
    if (fresh.size || of !== shown) moves = fresh;
    [shown, ranks] = [of, now];
  }

  function mark() {
    for (const row of rows()) {
      const by = moves.get(row.dataset.team);
      if (!by) continue;
      const way = by > 0 ? "up" : "down", count = Math.abs(by);
      const sign = document.createElement("span");
      sign.className = way;
      sign.title = table().dataset[`${way}${count === 1 ? "One" : "Many"}`].replace("[count]", count);
      const words = document.createElement("span");
      words.className = "unseen";
      words.textContent = ` ${sign.title}`;
      const arrow = document.createElement("span");
      arrow.ariaHidden = "true";
      arrow.textContent = (by > 0 ? "▲" : "▼") + count;
      sign.append(arrow, words);
      row.querySelector(".rank").append(sign);
    }
  }

  document.addEventListener("DOMContentLoaded", compare);
  document.addEventListener("htmx:sseMessage", () => { compare(); mark(); });
})();
