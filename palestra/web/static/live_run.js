// The curves of a live run: what was before, then each point as it comes.
"use strict";
(() => {
  const MOST = 2000; // points that are drawn; older ones are thinned out, so that a run of hours stays light
  const box = document.getElementById("live-run");
  const rows = [...box.querySelectorAll("tr[data-team]")];
  const teams = rows.map((row) => row.dataset.team);
  const { unit, better } = box.dataset;
  let deadline = Number(box.dataset.deadline); // s; 0 where there is none
  const numbers = []; // of points
  const scores = teams.map(() => []);
  const latencies = teams.map(() => []); // ms
  let newest = 0, drawing = false, plots = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const write = (value) => {
    if (value === null || value === undefined) return "–";
    if (unit === "deg") return `${value.toFixed(3)}°`;
    return Math.abs(value) <= 1 && unit === "" ? value.toFixed(4) : value.toFixed(3);
  };

  function take(point) {
    if (point.run !== box.dataset.run || point.number <= newest) return; // a replay after a lost connection
    newest = point.number;
    numbers.push(point.number);
    deadline = point.deadline_s ?? 0;
    const found = new Map(point.teams.map((team) => [team.team || team.name, team]));
    teams.forEach((id, i) => {
      const team = found.get(id);
      scores[i].push(team?.value ?? null);
      latencies[i].push(team?.latency_s == null ? null : 1000 * team.latency_s);
    });
    if (numbers.length > MOST) thin();
  }

  function thin() {
    const half = (list) => { const kept = list.filter((_, i) => i % 2 === 0 || i > MOST / 2); list.splice(0, list.length, ...kept); };
    [numbers, ...scores, ...latencies].forEach(half);
  }

  function tell(point) {
    const found = new Map(point.teams.map((team) => [team.team || team.name, team]));
    for (const row of rows) {
      const team = found.get(row.dataset.team);
      if (!team) continue;
      row.querySelector("[data-value]").textContent = write(team.value);
      row.querySelector("[data-missed]").textContent = team.missed;
      row.querySelector("[data-latency]").textContent = team.gone ? box.dataset.gone : team.latency_s == null ? "–" : `${Math.round(1000 * team.latency_s)} ms`;
    }
    document.getElementById("live-where").textContent = box.dataset.where.replace("[sitting]", point.sitting).replace("[point]", point.point).replace("[points]", point.points);
  }

  function draw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; plots[0].setData([numbers, ...scores]); plots[1].setData([numbers, ...latencies]); });
  }

  // Scores are curves; latencies jump, so they are dots.
  function plot(target, format, reversed, dots, more) {
    const ink = colour("--soft"), line = colour("--line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: `12px ${getComputedStyle(document.body).fontFamily}` };
    const series = rows.map((row, i) => ({ label: row.dataset.name, stroke: colour(`--s${i % 8}`), width: 2, spanGaps: false, dash: i >= 8 ? [6, 4] : undefined, paths: dots ? () => null : undefined, points: { show: dots, size: 4, width: 0, fill: colour(`--s${i % 8}`) }, show: row.querySelector("input").checked }));
    return new uPlot({
      width: target.clientWidth, height: 280, hooks: more.hooks, legend: { show: false }, cursor: { y: false },
      scales: { x: { time: false, range: (_, low, high) => [Math.min(low ?? 1, 1), Math.max(high ?? 1, Number(box.dataset.points) || 10)] }, y: { dir: reversed ? -1 : 1, range: more.range } },
      axes: [{ ...axis, size: 34, label: box.dataset.pointWord, labelSize: 18, labelGap: 0, labelFont: axis.font, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] }, { ...axis, size: 80, values: (_, ticks) => ticks.map(format) }],
      series: [{}, ...series],
    }, [[], ...teams.map(() => [])], target);
  }

  // The line that answers must not cross.
  function drawDeadline(u) {
    if (!deadline) return;
    const y = u.valToPos(1000 * deadline, "y", true);
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--bad");
    ctx.setLineDash([6, 5]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(u.bbox.left + u.bbox.width, y);
    ctx.stroke();
    ctx.textAlign = "right";
    ctx.fillText(box.dataset.deadlineWord, u.bbox.left + u.bbox.width - 4, y - 5);
    ctx.restore();
  }

  const fromZero = (_, low, high) => [0, 1.12 * Math.max(high ?? 0, 1000 * deadline, 1)];

  function build() {
    for (const old of plots) old.destroy();
    plots = [
      plot(document.getElementById("plot-score"), write, better === "lower", false, {}),
      plot(document.getElementById("plot-latency"), (value) => `${Math.round(value)} ms`, false, true, { hooks: { draw: [drawDeadline] }, range: fromZero }),
    ];
    draw();
  }

  function listen() {
    if (!box.dataset.live) return;
    const source = new EventSource(box.dataset.live);
    source.onopen = () => document.dispatchEvent(new Event("palestra:open"));
    source.onerror = () => {
      document.dispatchEvent(new Event("palestra:lost"));
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000); // browsers give up after an HTTP error
    };
    source.addEventListener("point", (event) => { const point = JSON.parse(event.data); take(point); tell(point); draw(); });
    source.addEventListener("run", (event) => {
      const { state } = JSON.parse(event.data);
      const sign = document.getElementById("run-state");
      sign.className = `state run-${state}`;
      sign.textContent = sign.dataset[state];
    });
  }

  async function catchUp() {
    if (!box.dataset.history) return;
    const response = await fetch(box.dataset.history, { headers: { Accept: "application/json" } });
    if (!response.ok) return;
    const { points } = await response.json();
    points.forEach(take);
    if (points.length) tell(points.at(-1));
    draw();
  }

  build();
  rows.forEach((row, i) => row.querySelector("input").addEventListener("change", (event) => { for (const one of plots) one.setSeries(i + 1, { show: event.target.checked }); }));
  new ResizeObserver(() => { for (const one of plots) one.setSize({ width: one.root.parentElement.clientWidth, height: 280 }); }).observe(box);
  document.addEventListener("palestra:theme", build);
  document.addEventListener("palestra:back", catchUp);
  catchUp().then(listen);
})();
