// A team's turn as it will be once the messages that wait have arrived. It mirrors the rules of the table (match_flow.py)
// as far as a referee needs them without a server; the server has the last word.
"use strict";
(() => {
  const { elapsed } = window.palestraMatch;

  const attemptOf = (one, number) => {
    while (one.attempts.length < number) one.attempts.push({ number: one.attempts.length + 1, why: "", counts: false, seats: [], differ: [], missing: [], mine: [], signed: false });
    return one.attempts[number - 1];
  };
  const leftOf = (turn, now) => Math.max(turn.total_ms - elapsed(turn.dial, now), 0);

  function unused(turn, rules, one) {
    if (rules.limit_per === "case") return rules.limit_ms;
    const used = turn.cases.filter((other) => other.group === one.group).map((other) => Math.min(other.dial.ran_ms, other.budget_ms));
    return Math.max(rules.limit_ms - used.reduce((sum, ms) => sum + ms, 0), 0);
  }

  function stop(dial, at) { dial.ran_ms = elapsed(dial, at); dial.since = null; }

  // What the clock alone has ended.
  function settle(turn, at) {
    const one = turn.cases.find((other) => other.running);
    if (!one || elapsed(one.dial, at) < one.budget_ms) return;
    one.dial.since = null;
    one.dial.ran_ms = one.ran_ms = one.budget_ms;
    one.running = false;
    one.ended = one.budget_of || "time";
  }

  function end(one, how, at) {
    stop(one.dial, at);
    one.running = false;
    one.ended = how;
    one.ran_ms = Math.min(one.dial.ran_ms, one.budget_ms);
  }

  const STEPS = {
    "scene.checked": (turn, one) => one.scenes.push({ at: 0, by: "", photo: "", attempt: one.running ? one.attempts.length : 1 }),
    "system.confirmed": (turn, one) => { one.confirmed = true; },
    "instruction.entered": (turn, one, event) => { one.entered = event.text; },
    "signal.given": (turn, one) => { one.signalled = true; },
    "case.started": (turn, one, event, rules) => {
      if (one.started_at !== null) return;
      const own = unused(turn, rules, one), left = leftOf(turn, event.said_at);
      Object.assign(one, { started_at: event.said_at, running: true, budget_ms: Math.min(own, left), budget_of: own <= left ? "time" : "match" });
      one.dial.since = event.said_at;
      attemptOf(one, 1);
    },
    "case.stopped": (turn, one, event) => { if (one.running) end(one, "stopped", event.said_at); },
    "case.abandoned": (turn, one, event) => { if (!one.ended) end(one, "abandoned", event.said_at); },
    "case.retried": (turn, one, event) => {
      if (!one.running) return;
      attemptOf(one, one.attempts.length + 1).why = event.why;
      one.retries_left = Math.max(one.retries_left - 1, 0);
    },
    "program.restarted": (turn) => { turn.restarts_left = Math.max(turn.restarts_left - 1, 0); },
    "goal.marked": (turn, one, event) => {
      const attempt = attemptOf(one, event.attempt), rest = attempt.mine.filter((goal) => goal !== event.goal);
      attempt.mine = event.on ? [...rest, event.goal] : rest;
    },
    "marks.signed": (turn, one, event) => { Object.assign(attemptOf(one, event.attempt), { mine: event.met, signed: true }); },
  };

  function predicted(view, waiting, now) {
    const turn = structuredClone(view.turn);
    if (!turn) return null;
    const gone = new Set(waiting.filter((item) => item.event.kind === "match.undone").map((item) => item.event.undoes));
    for (const { event } of waiting) {
      if (event.team !== turn.team || gone.has(event.key)) continue;
      settle(turn, event.said_at);
      const one = turn.cases.find((other) => other.id === event.case);
      if (one && STEPS[event.kind]) STEPS[event.kind](turn, one, event, view.rules);
    }
    settle(turn, now);
    turn.over = turn.over || (turn.begun_at !== null && leftOf(turn, now) <= 0);
    const next = turn.over ? null : turn.cases.find((one) => one.running || (!one.ended && unused(turn, view.rules, one) > 0));
    turn.current = next ? next.id : "";
    if (turn.begun_at !== null && !next) turn.over = true;
    return turn;
  }

  // What a referee can do now, where no server can be asked.
  function possible(turn, one) {
    const found = new Set(["conduct.noted"]);
    if (!turn.seated || !one || turn.held) return found;
    const here = one.id === turn.current;
    if (here && !one.running) {
      found.add("scene.checked").add("case.abandoned");
      if (!one.confirmed) found.add("system.confirmed");
      if (one.scenes.length && one.confirmed && !one.signalled) found.add("instruction.entered");
      if (one.entered && !one.signalled) found.add("signal.given");
      if (one.signalled) found.add("case.started");
    }
    if (one.running) {
      for (const kind of ["goal.marked", "case.stopped", "case.abandoned", "scene.checked"]) found.add(kind);
      if (one.retries_left) found.add("case.retried");
      if (turn.restarts_left) found.add("program.restarted");
    }
    const last = one.attempts[one.attempts.length - 1];
    if (one.ended && last && !last.signed && ["stopped", "time", "match"].includes(one.ended)) found.add("marks.signed").add("goal.marked");
    return found;
  }

  function caseLeft(turn, rules, one, now) {
    if (one.started_at !== null) return Math.max(one.budget_ms - elapsed(one.dial, now), 0);
    return Math.min(unused(turn, rules, one), leftOf(turn, now));
  }

  Object.assign(window.palestraMatch, { predicted, possible, caseLeft, leftOf });
})();
