// Light or dark: as the system says, or as was chosen here. Runs before the page is drawn, so that nothing flashes.
"use strict";
(() => {
  const KEY = "palestra-theme";
  const root = document.documentElement;
  const read = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* private windows may forbid it */ } };
  const chosen = read();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const label = () => { button.textContent = isDark() ? button.dataset.light : button.dataset.dark; };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep(root.dataset.theme);
      label();
      document.dispatchEvent(new Event("palestra:theme"));
    });
    system.addEventListener("change", label);
    button.hidden = false;
    label();
  });
})();
