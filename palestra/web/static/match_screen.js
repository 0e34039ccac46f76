// The hall's screen of a match: clocks go by the server's time between two messages, and a sub-goal that falls is seen to fall.
"use strict";
(() => {
  const SYNC_MS = 60_000, TICK_MS = 100, SOON_MS = 30_000;
  let ahead = 0; // by how many ms the server's clock is before ours

  const now = () => Date.now() + ahead;
  const two = (value) => String(value).padStart(2, "0");

  function left(dial) {
    const { ran, since, total } = dial.dataset;
    return Math.max(Number(total) - Number(ran) - (since ? Math.max(now() - Number(since), 0) : 0), 0);
  }

  // Rounded up, as people count down: 0:00 is shown when it is over and not before.
  function tick() {
    for (const dial of document.querySelectorAll("#screen .dial")) {
      const ms = left(dial), seconds = Math.ceil(ms / 1000);
      const text = `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
      if (dial.textContent !== text) dial.textContent = text;
      dial.classList.toggle("soon", Boolean(dial.dataset.since) && ms < SOON_MS);
    }
  }

  async function sync() {
    const asked = Date.now();
    try {
      const answer = await fetch(`/api/matches/${encodeURIComponent(document.body.dataset.match)}/clock`, { cache: "no-store" });
      if (answer.ok) ahead = (await answer.json()).now - (asked + Date.now()) / 2;
    } catch (error) { console.info("The server's clock was not reached:", error.message); }
  }

  const fallen = () => {
    const list = document.querySelector("#screen .goals");
    return list ? [...list.children].map((goal, place) => goal.classList.contains("met") ? `${list.dataset.case}/${place}` : "").filter(Boolean) : [];
  };
  let before = new Set();
  document.addEventListener("htmx:sseBeforeMessage", () => { before = new Set(fallen()); });
  document.addEventListener("htmx:sseMessage", () => {
    const list = document.querySelector("#screen .goals");
    for (const name of fallen()) if (!before.has(name)) list.children[Number(name.split("/").pop())].classList.add("fresh");
    tick();
  });

  document.addEventListener("DOMContentLoaded", () => {
    ahead = Number(document.body.dataset.now) - Date.now();
    tick();
    setInterval(tick, TICK_MS);
    sync();
    setInterval(sync, SYNC_MS);
  });
  document.addEventListener("palestra:back", sync);
})();
