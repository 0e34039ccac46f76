// A page of a match and its server: the server's clock, and messages that wait until they have arrived.
"use strict";
(() => {
  const root = document.getElementById("table");
  const { match, account } = root.dataset;
  const words = JSON.parse(root.dataset.words);
  const api = `/api/matches/${match}`;
  const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  const told = (text) => (language === "zh" ? text.zh || text.en : text.en || text.zh) || "";
  const say = (key, places = {}) => {
    let text = words[key];
    for (const [name, value] of Object.entries(places)) text = text.replace(`[${name}]`, value);
    return text;
  };

  // Whoever wants to know that something has changed: the connection, the clock, the outbox.
  const listeners = [];
  const changed = () => { for (const listener of listeners) listener(); };

  // The clock is the server's. A page estimates how far its own is off by asking several times: the answer that came
  // back fastest tells it best. It moves there a little at a time, so that no second is shown twice or left out.
  const clock = (() => {
    const KEPT = 12, LEAP_MS = 1000, SLEW = 0.05, EVERY_MS = 5000, FIRST = 5;
    const steady = () => performance.timeOrigin + performance.now(); // nobody sets it while the page is open
    let samples = [], offset = Number(document.body.dataset.now) - steady(), wanted = null, first = null, moved = steady();

    function settle() {
      const at = steady(), most = (at - moved) * SLEW;
      moved = at;
      if (wanted === null) return;
      const gap = wanted - offset;
      offset = first === null || Math.abs(gap) > LEAP_MS ? wanted : offset + Math.max(-most, Math.min(most, gap));
    }
    function now() { settle(); return steady() + offset; }

    async function sample() {
      const sent = steady();
      const answer = await fetch(`${api}/clock`, { cache: "no-store", signal: AbortSignal.timeout(4000) });
      if (!answer.ok) throw new Error(`clock: ${answer.status}`);
      const told = await answer.json(), got = steady();
      samples = [...samples, { offset: told.now + 0.5 - (sent + got) / 2, trip: got - sent }].slice(-KEPT);
      wanted = samples.reduce((best, one) => (one.trip < best.trip ? one : best)).offset;
    }
    async function compare() {
      try {
        for (let i = samples.length < FIRST ? FIRST : 1; i; i--) await sample();
        if (first === null) first = wanted;
        link.good();
        mind();
      } catch { link.failed(); }
    }
    // Half of the fastest round trip is how wrong it can be; drift is what had to be corrected since the page opened.
    const error = () => (samples.length ? Math.min(...samples.map((one) => one.trip)) / 2 : null);
    const drift = () => (first === null ? 0 : wanted - first);
    const behind = () => (wanted === null ? 0 : wanted - offset);
    const start = () => { compare(); setInterval(compare, EVERY_MS); };
    document.addEventListener("visibilitychange", () => { if (!document.hidden) { samples = []; compare(); } });
    return { now, compare, start, error, drift, behind };
  })();

  // Whether the server answers.
  const link = (() => {
    let online = true;
    const set = (value) => { if (online !== value) { online = value; changed(); } };
    return {
      get online() { return online; },
      good() { const before = online; set(true); if (!before) outbox.deliver(); },
      failed() { set(false); },
    };
  })();

  // What was said and has not been heard yet. It outlives the page: it is kept in the browser until the server has it.
  // Each message has a number of its own, so one that arrives twice counts once.
  const outbox = (() => {
    const place = `palestra.match.${match}.${account}`, counter = `${place}.count`, LONGEST_MS = 4000;
    const page = Math.random().toString(36).slice(2, 8);
    let memory = null, busy = false, timer = 0, tries = 0, refusals = [], stopped = "", arrived = [];

    function read() {
      if (memory) return memory;
      try { return JSON.parse(localStorage.getItem(place) || "[]"); } catch { return []; }
    }
    function write(items) {
      try { localStorage.setItem(place, JSON.stringify(items)); memory = null; } catch { memory = items; } // no room, or not allowed
    }
    function number() {
      let count = 1;
      try { count = Number(localStorage.getItem(counter) || 0) + 1; localStorage.setItem(counter, count); } catch { count = Date.now(); }
      return `${page}-${String(count).padStart(9, "0")}`;
    }
    function add(event, photo = "") {
      const item = { event: { ...event, match, key: number(), said_at: Math.round(clock.now()) } };
      if (!link.online) item.event.queued = true;
      if (photo) item.photo = photo;
      write([...read(), item]);
      changed();
      deliver();
      return item.event;
    }
    const drop = (key) => write(read().filter((item) => item.event.key !== key));
    const waitLonger = () => write(read().map((item) => ({ ...item, event: { ...item.event, queued: true } })));

    async function deliver() {
      if (busy) return;
      busy = true;
      clearTimeout(timer);
      try {
        for (let item; (item = read()[0]);) {
          const answer = await send(item);
          drop(item.event.key);
          if (answer.refusal) refusals = [...refusals, { event: item.event, why: answer.refusal }];
          else arrived = [...arrived, { event: item.event, seq: answer.seq }];
          tries = 0;
          stopped = "";
          link.good();
          changed();
        }
      } catch (error) {
        stopped = error.stopped || "";
        waitLonger();
        link.failed();
        timer = setTimeout(deliver, Math.min(250 * 2 ** tries++, LONGEST_MS));
      } finally {
        busy = false;
        changed();
      }
    }
    async function send(item) {
      if (item.photo) {
        const sent = await post(`${api}/photos`, await (await bytesOf(item.photo)).arrayBuffer(), "image/jpeg");
        if (!sent.ok) return { refusal: await reason(sent) };
        item.event.photo = (await sent.json()).photo;
        delete item.photo;
        write(read().map((one) => (one.event.key === item.event.key ? item : one)));
      }
      const answer = await post(`${api}/events`, JSON.stringify(item.event), "application/json");
      return answer.ok ? answer.json() : { refusal: await reason(answer) };
    }
    async function post(path, body, kind, again = true) {
      const sign = document.querySelector('meta[name="csrf-token"]');
      const headers = { "content-type": kind, "x-csrf-token": sign.content };
      const answer = await fetch(path, { method: "POST", body, headers, signal: AbortSignal.timeout(8000) });
      if (answer.status === 401) throw Object.assign(new Error("signed out"), { stopped: "signed_out" });
      if (answer.status === 429 || answer.status >= 500) throw new Error(`answered ${answer.status}`);
      if (answer.status === 403 && again && await signed(sign)) return post(path, body, kind, false);
      return answer;
    }
    // Who signed in again elsewhere has another sign: whether there is one.
    async function signed(sign) {
      const page = await (await fetch(location.href, { cache: "no-store" })).text();
      const found = new DOMParser().parseFromString(page, "text/html").querySelector('meta[name="csrf-token"]');
      if (!found || found.content === sign.content) return false;
      sign.content = found.content;
      return true;
    }
    async function reason(answer) {
      try { return (await answer.json()).error; } catch { return String(answer.status); }
    }
    function bytesOf(dataAddress) {
      const [head, text] = dataAddress.split(",");
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      return new Blob([bytes], { type: head.slice(5).split(";")[0] });
    }
    window.addEventListener("online", deliver);
    window.addEventListener("storage", (event) => { if (event.key === place) changed(); });
    // All that a page's view does not know of yet: it knows the events of the log up to a number.
    function pending(seq) {
      arrived = arrived.filter((item) => item.seq > seq);
      return [...arrived, ...read()];
    }
    return {
      add, deliver, read, pending,
      get refusals() { return refusals; },
      get stopped() { return stopped; },
      forgive() { refusals = []; changed(); },
    };
  })();

  // News of the match. Browsers come back by themselves, but for an answer that they take for final.
  function listen(address, name, heard) {
    const source = new EventSource(`${address}&lang=${language}`);
    let text = ""; // of the last message: the next may say only what changes in it, as lines of it and lines that are new
    source.addEventListener(name, (event) => { link.good(); text = event.data; heard(text); });
    source.addEventListener(`${name}-change`, (event) => {
      const before = text.split("\n");
      text = JSON.parse(event.data).flatMap((part) => (typeof part === "string" ? [part] : before.slice(part[0], part[0] + part[1]))).join("\n");
      link.good();
      heard(text);
    });
    source.onopen = () => link.good();
    source.onerror = () => {
      link.failed();
      if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(address, name, heard), 2000);
    };
  }

  function el(name, given = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(given)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
    return made;
  }

  const two = (value) => String(value).padStart(2, "0");
  const shown = (ms) => `${Math.floor(ms / 60_000)}:${two(Math.floor(ms / 1000) % 60)}`;
  const elapsed = (dial, now) => dial.ran_ms + (dial.since === null ? 0 : Math.max(now - dial.since, 0));

  // The line that every page of a match has: whether it reaches the server, what waits, how good its clock is.
  function status(box) {
    const waiting = outbox.read().length, error = clock.error();
    const parts = [el("span", { class: link.online ? "up" : "down" }, link.online ? say("online") : say("offline"))];
    if (waiting) parts.push(el("strong", { class: "waiting" }, say(waiting === 1 ? "waits_one" : "waits_many", { count: waiting })));
    if (outbox.stopped === "signed_out") parts.push(el("a", { href: `/sign-in?next=${encodeURIComponent(location.pathname)}` }, say("signed_out")));
    if (error !== null) {
      const drift = Math.round(clock.drift());
      const text = say("clock", { error: Math.max(1, Math.ceil(error)) }) + (Math.abs(drift) >= 5 ? ` ${say("drift", { drift: (drift > 0 ? "+" : "") + drift })}` : "");
      parts.push(el("span", { class: "accuracy" }, text));
    }
    const text = parts.map((one) => one.textContent).join(" ");
    if (box.textContent === text && box.childElementCount === parts.length) return;
    box.replaceChildren(...parts);
    root.classList.toggle("cut-off", !link.online);
  }
  function refused(box) {
    const found = outbox.refusals;
    box.hidden = !found.length;
    if (!found.length || box.dataset.count === String(found.length)) { if (!found.length) delete box.dataset.count; return; }
    box.dataset.count = found.length;
    box.replaceChildren(
      el("ul", {}, found.map((one) => el("li", {}, el("strong", {}, say("not_taken")), " ", one.why))),
      el("button", { type: "button", onclick: () => outbox.forgive() }, say("understood")),
    );
  }
  function mind() {
    status(document.getElementById("link"));
    refused(document.getElementById("refused"));
  }
  listeners.push(mind);
  setInterval(mind, 1000);

  window.palestraMatch = { root, api, words, say, told, language, clock, link, outbox, listeners, listen, el, shown, elapsed };
  clock.start();
  outbox.deliver();
  mind();
})();
