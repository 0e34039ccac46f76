// Sends a file in pieces, goes on after a lost connection or a reload, and hands it in.
//   POST  /api/uploads {phase, name, bytes, purpose}         → {upload, received}
//   PATCH /api/uploads/{id}, Upload-Offset, one raw piece    → {received}
//   GET   /api/uploads/{id}                                  → {received}
//   POST  /api/uploads/{id}/complete                         → {submission}
"use strict";
(() => {
  const PIECE = 4 * 1024 * 1024;
  const FIRST_WAIT_MS = 1000, LONGEST_WAIT_MS = 10_000;
  const token = () => document.querySelector('meta[name="csrf-token"]').content;
  const pause = (ms, signal) => new Promise((done) => {
    const timer = setTimeout(done, ms);
    const now = () => { clearTimeout(timer); done(); };
    window.addEventListener("online", now, { once: true });
    document.addEventListener("palestra:back", now, { once: true }); // the page's own stream was faster to come back
    signal.addEventListener("abort", now, { once: true });
  });

  class Refusal extends Error {}

  function size(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    while (bytes >= 999.5 && at < units.length - 1) { bytes /= 1000; at += 1; }
    return `${at && bytes < 99.5 ? bytes.toPrecision(3) : Math.round(bytes)} ${units[at]}`;
  }

  // What the server answers; undefined where it could not be reached or is not well: then it is worth another try.
  async function ask(method, address, body, headers, signal) {
    let response;
    try {
      response = await fetch(address, { method, body, headers: { "X-CSRF-Token": token(), Accept: "application/json", ...headers }, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return undefined;
    }
    if (response.status >= 500 || response.status === 429 || response.status === 408) return undefined;
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    const fault = new Refusal([answer.error, ...(answer.faults ?? [])].filter(Boolean).join("\n") || `${response.status} ${response.statusText}`);
    fault.status = response.status;
    fault.received = answer.received;
    throw fault;
  }

  class Uploader {
    constructor(form) {
      this.form = form;
      this.words = form.dataset;
      this.input = form.querySelector('input[type="file"]');
      this.send = form.querySelector('button[type="submit"]');
      this.stop = form.querySelector(".stop");
      this.box = form.querySelector(".progress");
      this.bar = form.querySelector("progress");
      this.amount = form.querySelector(".amount");
      this.said = form.querySelector(".said");
      this.key = `palestra-upload-${this.words.phase}-${this.words.purpose}`;
      form.addEventListener("submit", (event) => { event.preventDefault(); this.start(); });
      this.stop.addEventListener("click", () => this.control.abort());
      this.input.addEventListener("change", () => this.look());
      const drop = form.querySelector(".drop");
      for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
        drop.addEventListener(name, (event) => {
          event.preventDefault();
          drop.classList.toggle("over", over);
          if (name === "drop" && event.dataTransfer.files.length) { this.input.files = event.dataTransfer.files; this.look(); }
        });
      }
      document.addEventListener("htmx:sseMessage", () => this.follow());
      this.offerToGoOn();
    }

    // What is stated above the form is sent live: its limits, and whether anything can be handed in.
    get stated() { return this.form.closest(".upload").querySelector(".stated"); }

    // A phase that closes takes the form away, but not from under an upload: the server says what becomes of that.
    follow() {
      this.form.hidden = "refusal" in this.stated.dataset && this.stop.hidden;
      palestraTimes.addViewersTime(this.stated);
    }

    say(text, bad = false) { this.said.textContent = text; this.said.classList.toggle("bad", bad); }

    kept() { try { return JSON.parse(localStorage.getItem(this.key)); } catch { return null; } }
    keep(upload) {
      try { if (upload) localStorage.setItem(this.key, JSON.stringify(upload)); else localStorage.removeItem(this.key); }
      catch (error) { console.info("This upload cannot go on after a reload:", error.message); }
    }

    fault(file) {
      const { limit, name, tooLarge, wrongName } = this.stated.dataset, { suffixes } = this.words;
      if (!file.size) return this.words.empty;
      if (file.size > Number(limit)) return tooLarge;
      if (name && file.name !== name) return wrongName;
      const ends = suffixes.split(" ").filter(Boolean);
      if (!name && ends.length && !ends.some((end) => file.name.toLowerCase().endsWith(end))) return this.words.wrongSuffix;
      return "";
    }

    look() {
      const file = this.input.files[0];
      if (!file) return;
      const fault = this.fault(file);
      const kept = this.kept();
      this.send.disabled = Boolean(fault);
      this.say(fault || (kept && !this.same(kept, file) ? this.words.other : `${file.name}, ${size(file.size)}`), Boolean(fault));
    }

    same(kept, file) { return kept.name === file.name && kept.bytes === file.size && kept.changed === file.lastModified; }

    async offerToGoOn() {
      const kept = this.kept();
      if (!kept) return;
      const control = new AbortController();
      try {
        const found = await ask("GET", `/api/uploads/${encodeURIComponent(kept.upload)}`, undefined, {}, control.signal);
        if (!found) return;
        const words = this.words.resume.replace("[name]", kept.name).replace("[sent]", size(found.received)).replace("[total]", size(kept.bytes));
        this.show(found.received, kept.bytes);
        this.say(words);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.keep(null); // the server knows it no more
      }
    }

    show(received, total, rate) {
      this.box.hidden = false;
      this.bar.value = (100 * received) / total;
      this.amount.textContent = rate === undefined ? `${size(received)} / ${size(total)}`
        : this.words.sending.replace("[sent]", size(received)).replace("[total]", size(total)).replace("[rate]", size(rate));
    }

    // Asks until there is an answer.
    async insist(...request) {
      for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
        const answer = await ask(...request, this.control.signal);
        if (answer !== undefined) { if (this.said.textContent === this.words.lost) this.say(""); return answer; }
        this.say(this.words.lost);
        await pause(wait, this.control.signal);
        if (this.control.signal.aborted) throw new DOMException("stopped", "AbortError");
      }
    }

    async begin(file) {
      const kept = this.kept();
      if (kept && this.same(kept, file)) {
        try {
          const found = await this.insist("GET", `/api/uploads/${encodeURIComponent(kept.upload)}`, undefined, {});
          return { upload: kept.upload, received: found.received };
        } catch (error) {
          if (!(error instanceof Refusal)) throw error; // gone: from the beginning
        }
      }
      const { phase, purpose } = this.words;
      const body = JSON.stringify({ phase, purpose, name: file.name, bytes: file.size });
      const made = await this.insist("POST", "/api/uploads", body, { "Content-Type": "application/json" });
      this.keep({ upload: made.upload, name: file.name, bytes: file.size, changed: file.lastModified });
      return made;
    }

    async pieces(file, upload, received) {
      const address = `/api/uploads/${encodeURIComponent(upload)}`;
      const began = performance.now(), from = received;
      while (received < file.size) {
        const piece = file.slice(received, received + PIECE);
        let answer;
        try {
          answer = await ask("PATCH", address, piece, { "Upload-Offset": String(received), "Content-Type": "application/octet-stream" }, this.control.signal);
        } catch (error) {
          if (!(error instanceof Refusal) || error.status !== 409) throw error;
        }
        // A lost answer leaves open whether the piece arrived: the server knows.
        if (answer === undefined) answer = await this.insist("GET", address, undefined, {});
        received = answer.received;
        this.show(received, file.size, (1000 * (received - from)) / Math.max(performance.now() - began, 1));
      }
    }

    async start() {
      const file = this.input.files[0];
      if (!file || this.fault(file)) return;
      this.control = new AbortController();
      this.send.disabled = this.input.disabled = true;
      this.stop.hidden = false;
      this.say("");
      try {
        const { upload, received } = await this.begin(file);
        this.show(received, file.size);
        await this.pieces(file, upload, received);
        this.say(this.words.checking);
        const done = await this.insist("POST", `/api/uploads/${encodeURIComponent(upload)}/complete`, undefined, {});
        this.keep(null);
        location.assign(`/submissions/${encodeURIComponent(done.submission)}`);
      } catch (error) {
        if (error.name === "AbortError") this.say(this.words.stopped);
        else if (error instanceof Refusal) { this.keep(null); this.box.hidden = true; this.say(this.words.refused.replace("[why]", error.message), true); }
        else throw error;
        this.send.disabled = this.input.disabled = false;
        this.stop.hidden = true;
        this.follow();
      }
    }
  }

  document.addEventListener("DOMContentLoaded", () => { for (const form of document.querySelectorAll(".uploader")) new Uploader(form); });
})();
