// Shows one block: each event at the frame that is seen nearest to its time. Nothing is skipped: what comes late moves what follows.

import { askRest, askSliders, askSums } from "./forms.js";

const LEAD_MS = 1000; // from a person's key to the first event
const LATE = 1.5; // frames
const EARLY = 0.75; // of a frame: what is drawn in a frame is seen about one frame later

export class Block {
  constructor(index, { plan, words, language, stage, frames, link, film, panel }) {
    Object.assign(this, { index, plan, words, language, stage, frames, link, film, panel });
    this.about = plan.blocks[index];
    this.events = plan.events;
    this.end = this.about.first + this.about.events;
    this.last = null; // the event that is shown
    this.hasEnded = false;
    this.isOpen = false; // an answer or a film's end is waited for
    this.isRunning = false;
    this.onTrouble = () => {};
  }

  // Resolves when the last event is over.
  run(from) {
    return new Promise((resolve) => {
      this.resolve = resolve;
      this.#begin(from, "started");
    });
  }

  // A form stays as it is; anything else stops.
  pause(why) {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.link.report("paused", { event: this.last?.number ?? this.next, values: { why } });
    if (this.isForm) return;
    this.isOpen = false;
    this.film.stop();
    this.stage.darken();
  }

  resume() {
    if (this.isForm) {
      this.isRunning = true;
      this.link.report("resumed", { event: this.last.number });
    } else {
      this.#begin(this.#following(), "resumed");
    }
  }

  stop() {
    this.isRunning = false;
    this.frames.onDropped = null;
    this.frames.each = () => {};
    this.film.stop();
    this.panel.replaceChildren();
    this.stage.darken();
  }

  get isForm() {
    return this.isOpen && this.last.ends === "answer";
  }

  get isTimed() {
    return this.isRunning && !this.isForm;
  }

  // plans/plan.py: next_event is the same for Python.
  #following() {
    if (!this.last) return this.next;
    const again = this.last.again;
    return again === undefined || this.hasEnded ? this.last.number + 1 : again;
  }

  #begin(from, kind) {
    this.next = from;
    this.last = null;
    const onset = from < this.end ? this.events[from].onset_s : this.about.length_s;
    this.zero = performance.now() + LEAD_MS - onset * 1000;
    this.isRunning = true;
    this.link.report(kind, { block: this.index, event: from, values: { zero_ms: this.zero, period_ms: this.frames.period } });
    this.#prepare(from);
    this.frames.onDropped = (count, gap_ms, time, frame) => {
      if (!this.isTimed) return;
      this.frames.dropped += count;
      this.link.report("dropped", { frame_ms: time, frame, values: { count, gap_ms } });
    };
    this.frames.each = (time, frame) => this.#tick(time, frame);
  }

  #tick(time, frame) {
    if (!this.isRunning || this.isOpen) return;
    const event = this.next < this.end ? this.events[this.next] : null;
    const due = this.zero + (event ? event.onset_s : this.about.length_s) * 1000;
    if (time + EARLY * this.frames.period >= due) {
      if (event) this.#fire(event, due, time, frame);
      else this.#finish();
    } else if (this.last) {
      this.stage.draw(this.last, (time - this.due) / 1000 / this.last.length_s);
    }
  }

  #fire(event, due, time, frame) {
    this.last = event;
    this.hasEnded = false;
    this.next = event.number + 1;
    if (event.shows === "video") return this.#play(event, due);
    const late = time - due > LATE * this.frames.period;
    if (late) this.zero += time - due;
    this.due = late ? time : due;
    if (event.shows !== "capture") this.stage.flip();
    this.stage.draw(event, (time - this.due) / 1000 / event.length_s);
    this.#shown(event, due, time, frame);
    if (late) this.link.report("shifted", { event: event.number, values: { by_ms: time - due } });
    if (event.ends === "answer") this.#ask(event);
    if (event.shows === "cross") this.#prepare(event.number);
  }

  #shown(event, planned_ms, frame_ms, frame) {
    this.link.report("onset", { event: event.number, block: this.index, planned_ms, frame_ms, frame });
  }

  // The film that comes next, so that it is there in time.
  #prepare(from) {
    const film = this.events.slice(from, this.end).find((event) => event.video);
    if (film && this.film.number !== film.video) this.film.prepare(film.video, this.language);
  }

  #play(event, due) {
    this.isOpen = true;
    const isThis = () => this.isOpen && this.last === event;
    this.film.play({
      onFrame: (time) => {
        if (!isThis()) return;
        this.stage.flip();
        this.stage.draw(null, 0);
        this.#shown(event, due, time, this.frames.frame);
      },
      onEnd: () => isThis() && this.#ended(event, () => this.film.stop()),
      onTrouble: (why) => {
        if (!isThis()) return;
        this.link.report("trouble", { event: event.number, values: { film: event.video, why } });
        this.onTrouble(event.video, why);
      },
    });
  }

  async #ask(event) {
    this.isOpen = true;
    document.body.classList.add("pointing");
    const answer = (values) => this.link.report("answer", { event: event.number, values });
    if (event.shows === "sliders") answer(await askSliders(this.panel, this.about.sliders, this.words));
    if (event.shows === "rest") await askRest(this.panel, event.length_s, this.words);
    if (event.shows === "sums") await askSums(this.panel, event.sums, this.words, answer);
    document.body.classList.remove("pointing");
    this.panel.replaceChildren();
    this.#ended(event, () => {});
  }

  #ended(event, tidy) {
    this.link.report("ended", { event: event.number });
    tidy();
    this.hasEnded = true;
    this.isOpen = false;
    this.zero = performance.now() - (event.onset_s + event.length_s) * 1000; // what follows is due now
  }

  #finish() {
    this.stop();
    this.resolve();
  }
}
