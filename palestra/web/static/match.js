// The referee's page: one big clock, the case, its sub-goals as switches, and what can be done now.
"use strict";
(() => {
  const { root, api, say, told, clock, link, outbox, listeners, listen, el, shown, elapsed, predicted, possible, caseLeft, leftOf, ask } = window.palestraMatch;
  const labels = JSON.parse(root.dataset.labels), stage = document.getElementById("stage");
  const NEEDS = { "case.retried": ["why"], "program.restarted": ["approved_by", "reason"], "conduct.noted": ["text"] };
  let view = JSON.parse(root.dataset.view), turn = null, chosen = "", pressed = false, late = false, seen = "";
  let scene = { of: "", ticked: new Set(), photo: "" };
  // One for all renderings: while a camera is open, the page goes on around it.
  const photo = el("input", { type: "file", id: "photo", accept: "image/*", capture: "environment", onchange: (event) => take(event.target.files[0], scene) });

  // What is so

  const waiting = () => outbox.pending(view.seq);
  const theirs = () => waiting().length || !link.online; // whether our own rules decide what can be done
  const caseBy = (id) => turn.cases.find((one) => one.id === id);
  const toSign = () => turn.cases.find((one) => mustSign(one));
  function mustSign(one) {
    const last = attempt(one);
    return turn.seated && ["stopped", "time", "match"].includes(one.ended) && last && !last.signed && one.standing !== "published";
  }
  const shownCase = () => caseBy(chosen) || toSign() || caseBy(turn.current) || turn.cases[turn.cases.length - 1];
  // The attempt to mark or to sign; of a case that has ended, the first that counts and is not signed.
  function attempt(one) {
    const last = one.attempts[one.attempts.length - 1];
    return (one.ended && view.rules.counts === "best" && one.attempts.find((found) => !found.signed)) || last;
  }
  const stepOf = (kind, one) => view.steps.find((step) => step.kind === kind && (!step.wish.case || !one || step.wish.case === one.id));
  function can(kind, one) {
    return theirs() ? possible(turn, one).has(kind) : Boolean(stepOf(kind, one));
  }

  // A step with what it costs: in the server's words; without it, in the page's own.
  function step(kind, one, more = {}) {
    const found = theirs() ? null : stepOf(kind, one);
    const wish = { team: turn.team, ...(one ? { case: one.id } : {}), ...more };
    if (found) return { ...found, wish: { ...found.wish, ...wish } };
    const left = shown(one ? caseLeft(turn, view.rules, one, clock.now()) : 0), key = `cost_${kind.replace(".", "_")}`;
    const text = key in window.palestraMatch.words ? say(key, { left, met: one ? attempt(one)?.mine.length ?? 0 : 0 }) : "";
    const choices = {
      why: ["drop", "hang", "pose"].map((value) => ({ value, label: { en: say(`why_${value}`) } })),
      approved_by: turn.referees.map((seat) => ({ value: seat.account, label: { en: seat.name } })),
    };
    return { kind, label: labels[kind], cost: { en: text, zh: text }, wish, needs: NEEDS[kind] || [], choices };
  }
  const at_once = (kind, one, more = {}) => outbox.add({ kind, team: turn.team, ...(one ? { case: one.id } : {}), ...more });

  // Parts

  const name = (kind) => { const text = told(labels[kind]); return text[0].toUpperCase() + text.slice(1); };
  const both = (words) => [el("p", { lang: "en", class: "said" }, words.en), el("p", { lang: "zh", class: "said" }, words.zh)];

  function chips() {
    let group = "";
    return el("nav", { class: "chips", "aria-label": say("cases") }, turn.cases.map((one) => {
      const first = one.group !== group;
      group = one.group;
      const state = one.running ? "running" : mustSign(one) ? "unsigned" : one.ended ? (one.met.length === one.total && one.total ? "full" : "done") : one.id === turn.current ? "here" : "";
      const button = el("button", {
        type: "button", id: `chip-${one.id}`, class: state, "aria-pressed": String(shownCase() === one), title: `${one.id} ${told(one.instruction)}`,
        onclick: () => { chosen = one.id; render(); },
      }, String(one.number));
      return first ? [el("span", { class: "group" }, told(one.group_title)), button] : button;
    }).flat());
  }

  function clocks(one) {
    const many = 1 + view.rules.retries;
    return el("section", { class: `clocks${turn.held ? " held" : ""}`, "aria-label": say("clocks") },
      el("p", { class: "big-clock", id: "case-clock", role: "timer" }, "–"),
      el("p", { class: "under" }, say(one.ended ? "ran" : view.rules.limit_per === "group" ? "left_group" : "left_case"),
        one.attempts.length ? el("span", { class: "attempt" }, say("attempt", { number: one.attempts.length, most: many })) : ""),
      el("progress", { id: "case-bar", max: 1, value: 1, "aria-label": say("left_case") }),
      el("p", { class: "turn-clock" }, el("span", { id: "turn-clock", role: "timer" }, "–"), " ", el("span", { class: "soft" }, say("left_turn"))),
      turn.held ? el("p", { class: "held-why" }, say("held", { reason: turn.held })) : "");
  }

  function theCase(one) {
    const groups = new Set(turn.cases.map((other) => other.group)).size;
    return el("section", { class: "the-case", "aria-labelledby": "case-title" },
      el("h2", { id: "case-title" }, say("case_of", { number: one.number, all: turn.cases.length }), el("span", { class: "soft" }, ` ${told(one.group_title)} · ${say("group_of", { number: one.group_number, all: groups })} · ${one.id}`)),
      both(one.instruction));
  }

  function others(last) {
    const seats = (last?.seats || []).filter((seat) => seat.account !== view.account);
    return seats.map((seat) => el("p", { class: `other ${seat.signed ? "signed" : ""}`, "data-other": seat.name },
      el("bdi", {}, seat.name), ": ", say(seat.signed ? "has_signed" : "has_marked", { count: seat.marked })));
  }

  function goals(one) {
    const last = attempt(one), signing = mustSign(one), off = !(one.running || signing) || !turn.seated || (last && last.signed);
    const rows = one.goals.map((goal) => {
      const on = Boolean(last && last.mine.includes(goal.id));
      const differs = last && last.differ.includes(goal.id);
      return el("button", {
        type: "button", role: "switch", id: `goal-${goal.id}`, class: `goal${differs ? " differs" : ""}`, "aria-checked": String(on), disabled: off || !can("goal.marked", one) && !signing,
        onclick: () => at_once("goal.marked", one, { attempt: last.number, goal: goal.id, on: !on }),
      },
      el("span", { class: "knob", "aria-hidden": "true" }),
      el("span", { class: "what" }, el("span", { class: "text" }, told(goal.text)), el("span", { class: "criterion" }, told(goal.criterion))),
      differs ? el("span", { class: "mark" }, say("differs")) : "");
    });
    const met = last ? last.mine.length : 0;
    return el("section", { class: "goals", "aria-label": say("goals") },
      el("h2", {}, say("goals"), el("span", { class: "soft" }, ` ${met}/${one.goals.length}`)), rows, others(last));
  }

  // Before the clock

  function sceneOf(one) {
    const key = `${one.id}/${one.running ? one.attempts.length : 1}`;
    if (scene.of !== key) scene = { of: key, ticked: new Set(), photo: "" };
    return scene;
  }
  function scenePanel(one) {
    const found = sceneOf(one), things = view.things.filter((thing) => one.things.includes(thing.number));
    const ready = things.every((thing) => found.ticked.has(thing.number)) && found.photo;
    const drawing = el("img", { class: "drawing", src: `${api}/layouts/${one.layout}`, alt: say("layout", { case: one.id }), onerror: (event) => { event.target.hidden = true; } });
    return el("section", { class: "scene", "aria-labelledby": "scene-title" },
      el("h2", { id: "scene-title" }, say("scene")),
      el("div", { class: "pictures" },
        el("figure", { class: found.photo ? "over" : "" }, found.photo ? el("img", { class: "photo", src: found.photo, alt: say("photo") }) : "", drawing),
        el("div", { class: "catalogue" },
          things.map((thing) => el("label", { class: "pick" },
            el("input", { type: "checkbox", id: `thing-${thing.number}`, checked: found.ticked.has(thing.number), onchange: (event) => { found.ticked[event.target.checked ? "add" : "delete"](thing.number); render(); } }),
            el("span", {}, el("strong", {}, `${thing.number} `), told(thing.name), el("span", { class: "soft" }, ` ${[thing.size_mm.join("×") + (thing.size_mm.length ? " mm" : ""), thing.material].filter(Boolean).join(", ")}`)))))),
      el("div", { class: "buttons" },
        el("label", { class: "big button", for: "photo" }, say(found.photo ? "photo_again" : "photo_take")), photo,
        el("button", {
          type: "button", id: "scene-sign", class: "big main", disabled: !ready || !can("scene.checked", one),
          onclick: () => { outbox.add({ kind: "scene.checked", team: turn.team, case: one.id, things: one.things, layout: one.layout, photo: "" }, found.photo); scene.of = ""; },
        }, say("scene_sign"))));
  }
  // A photo is made smaller before it waits for the server: a tablet has room for a few megabytes.
  async function take(file, found) {
    if (!file) return;
    const picture = await createImageBitmap(file), scale = Math.min(1, 1280 / Math.max(picture.width, picture.height));
    const canvas = el("canvas", { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    found.photo = canvas.toDataURL("image/jpeg", 0.8);
    render();
  }

  function line(number, done, text, button) {
    return el("li", { class: done ? "done" : "" }, el("span", { class: "number", "aria-hidden": "true" }, done ? "✓" : String(number)), el("span", { class: "text" }, text), done ? "" : button);
  }
  const press = (id, text, enabled, onclick, style = "") => el("button", { type: "button", id, class: `big ${style}`, disabled: !enabled, onclick }, text);

  function preparing(one) {
    const checked = one.scenes.some((found) => found.attempt === 1);
    const texts = ["en", "zh"].filter((language) => one.instruction[language]);
    return el("section", { class: "preparing", "aria-label": say("before") },
      el("ol", { class: "checklist" },
        line(1, checked, say("step_scene"), ""),
        line(2, one.confirmed, say("step_confirm"), press("confirm", say("step_confirmed"), can("system.confirmed", one), () => at_once("system.confirmed", one))),
        line(3, Boolean(one.entered), say("step_instruction"), el("span", { class: "choice" }, texts.map((language) => press(`enter-${language}`, say(`enter_${language}`), can("instruction.entered", one), () => at_once("instruction.entered", one, { text: one.instruction[language] }))))),
        line(4, one.signalled, say("step_signal"), press("signal", say("step_signalled"), can("signal.given", one), () => at_once("signal.given", one)))),
      press("start", say("start"), can("case.started", one), () => at_once("case.started", one), "start"),
      el("p", { class: "cost" }, can("case.started", one) ? say("cost_case_started", { left: shown(caseLeft(turn, view.rules, one, clock.now())) }) : ""));
  }

  function running(one) {
    const careful = (id, kind, style = "") => press(id, name(kind), can(kind, one), () => fresh(() => ask(step(kind, caseBy(one.id)))), style);
    return el("section", { class: "running", "aria-label": say("actions") },
      press("stop", say("stop"), can("case.stopped", one), () => at_once("case.stopped", one), "stop"),
      el("p", { class: "cost" }, say("cost_case_stopped")),
      el("div", { class: "buttons" },
        careful("retry", "case.retried"), careful("restart", "program.restarted"), careful("abandon", "case.abandoned", "danger-line")),
      el("p", { class: "soft" }, say(one.retries_left === 1 ? "retries_one" : "retries_many", { count: one.retries_left }), " ", say(turn.restarts_left === 1 ? "restarts_one" : "restarts_many", { count: turn.restarts_left })));
  }

  function ended(one) {
    const last = attempt(one), how = one.ended ? say(`ended_${one.ended}`) : "";
    const next = turn.current && turn.current !== one.id;
    const sign = mustSign(one) ? press("sign", say("sign", { met: last.mine.length, all: one.goals.length }), theirs() ? true : can("marks.signed", one), () => {
      chosen = "";
      at_once("marks.signed", one, { attempt: last.number, met: last.mine });
    }, "main") : "";
    return el("section", { class: "ended", "aria-label": say("after") },
      el("p", { class: "how" }, how, one.started_at ? ` · ${shown(one.ran_ms)}` : ""),
      mustSign(one) ? el("p", { class: "cost" }, say("sign_what")) : last && last.signed ? el("p", { class: "good" }, say("you_signed")) : "",
      last && last.differ.length && last.ruled === null ? el("p", { class: "bad" }, say("differ_wait")) : "",
      last && last.ruling ? el("p", {}, say("ruled", { reason: last.ruling })) : "",
      sign,
      next ? press("next", say("next_case"), true, () => { chosen = turn.current; render(); }) : "");
  }

  function before() {
    const kinds = ["referee.declared", "groups.drawn", "image.taken", "image.frozen", "turn.begun"];
    const found = kinds.map((kind) => view.steps.find((one) => one.kind === kind)).filter(Boolean);
    return el("section", { class: "before" },
      el("h2", {}, say("not_begun", { team: turn ? turn.name : "" })),
      el("p", { class: "soft" }, say(turn && turn.frozen ? "image_frozen" : "image_missing")),
      found.map((one) => el("div", { class: "stepping" }, press(`do-${one.kind.replace(".", "-")}`, name(one.kind), !theirs(), () => ask(one), one.kind === "turn.begun" ? "main" : ""), el("p", { class: "soft" }, one.kind === "turn.begun" ? told(one.cost) : ""))),
      found.length ? "" : el("p", {}, say("nothing_yet")));
  }

  function aside(one) {
    const undo = theirs() ? null : view.steps.find((found) => found.kind === "match.undone" && found.wish.team === turn.team);
    const penalties = turn.penalties.filter((found) => !found.withdrawn);
    const confirmable = (id) => view.steps.find((found) => found.kind === "penalty.confirmed" && found.wish.penalty === id);
    const careful = (id, kind) => { const found = theirs() ? null : view.steps.find((other) => other.kind === kind); return press(id, name(kind), Boolean(found), () => ask(found)); };
    return el("section", { class: "beside", "aria-label": say("besides") },
      el("div", { class: "buttons" },
        press("undo", undo ? told(undo.label)[0].toUpperCase() + told(undo.label).slice(1) : name("match.undone"), Boolean(undo), () => ask(undo)),
        press("conduct", name("conduct.noted"), can("conduct.noted", one), () => ask(step("conduct.noted", null))),
        careful("penalty", "penalty.proposed"), careful("close", "turn.closed")),
      penalties.map((found) => el("p", { class: "penalty" }, `${found.rule}: ${found.reason} `, found.points, " ",
        found.confirmed_by ? el("span", { class: "soft" }, say("confirmed_by", { name: found.confirmed_by })) : el("span", { class: "bad" }, say("needs_second", { name: found.proposed_by })),
        confirmable(found.id) && !theirs() ? press(`second-${found.id}`, name("penalty.confirmed"), true, () => ask(confirmable(found.id))) : "")));
  }

  // The page

  function parts() {
    if (!turn || turn.begun_at === null) return [teams(), before()];
    const playing = turn.state === "playing" && !turn.over;
    const one = shownCase(), now = one.id === turn.current || one.running;
    const unchecked = now && !one.running && !one.scenes.some((found) => found.attempt === 1);
    const unset = one.running && one.attempts.length > 1 && !one.scenes.some((found) => found.attempt === one.attempts.length);
    const main = now && !one.running ? preparing(one) : one.running ? running(one) : ended(one);
    const over = turn.over && !mustSign(one) ? el("p", { class: "over" }, say("turn_over")) : "", guest = turn.seated ? "" : el("p", { class: "bad" }, say("not_seated"));
    return [
      playing ? "" : teams(), chips(),
      el("div", { class: "halves" },
        el("div", { class: "left" }, theCase(one), unchecked ? scenePanel(one) : goals(one), unset ? el("details", { class: "again" }, el("summary", {}, say("scene_again")), scenePanel(one)) : ""),
        el("div", { class: "right" }, clocks(one), el("div", { class: "doing" }, over, guest, main), aside(one))),
      playing ? teams() : "",
    ];
  }
  function teams() {
    if (view.teams.length < 2) return "";
    return el("nav", { class: "teams", "aria-label": say("teams") }, view.teams.map((one) => el("a", {
      href: `?team=${encodeURIComponent(one.team)}`, class: one.state, "aria-current": turn && one.team === turn.team ? "page" : null,
    }, el("bdi", {}, one.name))));
  }

  function render() {
    if (pressed) { late = true; return; }
    turn = predicted(view, waiting(), clock.now());
    const focus = document.activeElement?.id, open = stage.querySelector("details.again")?.open, top = stage.scrollTop;
    stage.replaceChildren(...parts().filter(Boolean));
    if (turn) document.getElementById("whose").textContent = turn.name;
    if (open && stage.querySelector("details.again")) stage.querySelector("details.again").open = true;
    stage.scrollTop = top;
    const chip = stage.querySelector('.chips [aria-pressed="true"]');
    if (chip) chip.parentElement.scrollLeft = chip.offsetLeft - chip.parentElement.clientWidth / 2;
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    seen = signature();
    tick();
  }
  const signature = () => (turn ? `${turn.current} ${turn.over} ${turn.cases.map((one) => one.ended).join()} ${link.online} ${waiting().length}` : "");

  function tick() {
    const box = document.getElementById("case-clock");
    if (!turn || !box) return;
    const now = clock.now(), one = shownCase();
    const left = one.ended ? Math.max(one.budget_ms - one.ran_ms, 0) : caseLeft(turn, view.rules, one, now);
    box.textContent = shown(one.ended ? one.ran_ms : Math.ceil(left / 1000) * 1000);
    box.dataset.ranMs = Math.round(one.started_at === null ? 0 : one.ended ? one.ran_ms : elapsed(one.dial, now));
    box.dataset.at = Math.round(now);
    box.classList.toggle("low", one.running && left < 30_000);
    box.classList.toggle("ticks", one.running && !turn.held);
    document.getElementById("case-bar").value = left / (one.budget_ms || view.rules.limit_ms);
    document.getElementById("turn-clock").textContent = shown(Math.ceil(leftOf(turn, now) / 1000) * 1000);
  }
  function watch() {
    if (turn) {
      const before = seen;
      turn = predicted(view, waiting(), clock.now());
      if (signature() !== before) { render(); if (link.online) refetch(); }
    }
    tick();
  }

  async function refetch() {
    try {
      const answer = await fetch(`${api}?team=${encodeURIComponent(root.dataset.team)}`, { cache: "no-store", signal: AbortSignal.timeout(4000) });
      if (answer.ok) heard(await answer.json());
    } catch { link.failed(); }
  }
  // What a step costs changes with the time: the newest words, where the server answers soon.
  async function fresh(then) {
    if (!theirs()) await refetch();
    then();
  }
  function heard(told) {
    if (told.seq >= view.seq) view = { ...told, now: 0 };
    render();
  }

  // A finger that is down keeps the page still: what is pressed must be what is released.
  stage.addEventListener("pointerdown", () => { pressed = true; });
  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, () => setTimeout(() => { pressed = false; if (late) { late = false; render(); } }));
  }
  listeners.push(render);
  listen(root.dataset.live, "match", (text) => heard(JSON.parse(text)));
  setInterval(watch, 100);
  render();
})();
