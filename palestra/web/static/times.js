// Adds the viewer's own time to every time of the contest, and keeps countdowns and clocks going by the server's clock.
"use strict";
(() => {
  let ahead = 0; // by how many ms the server's clock is before ours
  const now = () => Date.now() + ahead;
  const DAY = 86_400_000;
  const zoneName = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

  const two = (value) => String(value).padStart(2, "0");

  // Written as the page itself writes times, in the viewer's zone.
  function write(date, pattern) {
    const { months } = document.body.dataset;
    return pattern.replace("[year]", date.getFullYear()).replace("[month]", months.split(" ")[date.getMonth()])
      .replace("[day]", date.getDate()).replace("[clock]", `${two(date.getHours())}:${two(date.getMinutes())}`);
  }
  const full = (date) => write(date, document.body.dataset.full);
  const yours = (date) => document.body.dataset.yourTime.replace("[time]", write(date, document.body.dataset.short));

  function addViewersTime(root) {
    for (const tag of root.querySelectorAll("time[datetime]:not([data-done])")) {
      tag.dataset.done = "";
      const date = new Date(tag.dateTime);
      if (-date.getTimezoneOffset() === Number(tag.dataset.offset)) continue;
      tag.title = `${full(date)} (${zoneName})`;
      if ("compact" in tag.dataset) continue;
      const span = document.createElement("span");
      span.className = "yours";
      span.textContent = ` (${yours(date)})`;
      tag.append(span);
    }
    for (const tag of root.querySelectorAll("[data-yours-of]")) {
      tag.hidden = false;
      if (tag.tagName === "DD") tag.textContent = `${full(new Date(Number(tag.dataset.yoursOf)))} ${zoneName}`;
    }
  }

  function show() {
    for (const box of document.querySelectorAll("[data-until]")) {
      const left = Math.max(Number(box.dataset.until) - now(), 0);
      const parts = { day: Math.floor(left / DAY), hour: two(Math.floor(left / 3_600_000) % 24), minute: two(Math.floor(left / 60_000) % 60), second: two(Math.floor(left / 1000) % 60) };
      const places = box.querySelectorAll("[data-part]");
      if (!places.length) {
        const days = parts.day ? `${document.body.dataset.day.replace("[count]", parts.day)} ` : "";
        box.textContent = left ? `${days}${parts.hour}:${parts.minute}:${parts.second}` : document.body.dataset.over;
      }
      for (const place of places) {
        const text = String(parts[place.dataset.part]);
        if (place.textContent !== text) place.textContent = text;
      }
    }
    for (const clock of document.querySelectorAll("[data-clock]")) {
      clock.textContent = new Intl.DateTimeFormat("en-GB", { timeZone: clock.dataset.zone, hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(now());
    }
  }

  function tick() {
    show();
    setTimeout(tick, 1000 - (now() % 1000));
  }

  document.addEventListener("DOMContentLoaded", () => {
    ahead = Number(document.body.dataset.now) - Date.now();
    addViewersTime(document);
    tick();
  });
  document.addEventListener("htmx:sseMessage", (event) => { addViewersTime(event.target); show(); });
  window.palestraTimes = { now, addViewersTime };
})();
