// Reports to the server. What could not be sent is kept, in this browser too, and sent as soon as the server is there.

const AGAIN_MS = 500;
const CLOCK_EVERY_MS = 5000;
const FIRST_PINGS = 20;
const PINGS = 5;
const REPLACED = 4001;
const OTHER = 4002;

export class Link {
  constructor(run, onState) {
    this.page = crypto.randomUUID();
    this.onState = onState; // "open", "closed", "replaced", "other", or what the server complains of
    this.run = run;
    this.key = `palestra-studio:${run}`;
    this.seq = 0;
    this.unsent = JSON.parse(localStorage.getItem(this.key) ?? "[]"); // of a page that was closed or reloaded
    this.waiting = []; // for everything to be taken
    this.answers = [];
    addEventListener("pagehide", () => this.#keep());
    this.#connect();
    setInterval(() => this.#ping(PINGS), CLOCK_EVERY_MS);
  }

  // Nothing more will be said.
  end() {
    this.isOver = true;
    this.socket.close();
  }

  get isOpen() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  report(kind, fields = {}) {
    const one = { type: "report", page: this.page, seq: this.seq++, kind, at_ms: performance.now(), ...fields };
    this.unsent.push(one);
    if (this.isOpen) this.socket.send(JSON.stringify(one));
    else this.#keep();
  }

  // Where the run goes on, as the server has it once it has taken everything.
  async where() {
    await this.settled();
    const answer = new Promise((resolve) => this.answers.push(resolve));
    this.socket.send(JSON.stringify({ type: "where" }));
    return answer;
  }

  settled() {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.#settle();
    });
  }

  #settle() {
    if (this.isOpen && !this.unsent.length) for (const done of this.waiting.splice(0)) done();
  }

  #connect() {
    this.socket = new WebSocket(`ws://${location.host}/link/${this.run}`);
    this.socket.onopen = () => {
      this.pings = []; // of another connection
      for (const one of this.unsent) this.socket.send(JSON.stringify(one));
      this.onState("open");
      this.#ping(FIRST_PINGS);
      this.#settle();
    };
    this.socket.onmessage = (message) => this.#heard(JSON.parse(message.data), performance.now());
    this.socket.onclose = ({ code }) => {
      this.#keep();
      if (this.isOver) return;
      if (code === REPLACED) return this.onState("replaced");
      if (code === OTHER) return this.onState("other");
      this.onState("closed");
      setTimeout(() => this.#connect(), AGAIN_MS);
    };
  }

  #heard(said, now) {
    if (said.type === "pong") this.#pong(said, now);
    if (said.type === "where") this.answers.shift()?.(said);
    if (said.type === "later") {
      this.onState(said.why);
      this.socket.close(); // and everything is sent again
    }
    if (said.type === "refused") this.onState(said.why);
    if ((said.type === "taken" || said.type === "refused") && said.page) {
      this.unsent = this.unsent.filter((one) => one.page !== said.page || one.seq !== said.seq);
      if (!this.unsent.length) localStorage.removeItem(this.key);
      this.#settle();
    }
  }

  #keep() {
    if (this.unsent.length) localStorage.setItem(this.key, JSON.stringify(this.unsent));
  }

  #ping(count) {
    this.pings = [];
    this.pingsLeft = count;
    if (this.isOpen) this.socket.send(JSON.stringify({ type: "ping", at_ms: performance.now() }));
  }

  // The shortest of some round trips tells the offset best.
  #pong({ at_ms, host_s }, now) {
    this.pings.push({ round_trip_ms: now - at_ms, offset_s: host_s - (at_ms + now) / 2000 });
    if (this.pings.length < this.pingsLeft) {
      this.socket.send(JSON.stringify({ type: "ping", at_ms: performance.now() }));
    } else {
      this.pings.sort((one, other) => one.round_trip_ms - other.round_trip_ms);
      this.report("clock", { values: this.pings[0] });
    }
  }
}
