// The display's frames: their times, how long one takes, and how many were left out.

const REMEMBERED = 120;

export class Frames {
  constructor() {
    this.frame = 0;
    this.dropped = 0;
    this.period = 1000 / 60;
    this.gaps = [];
    this.last = null;
    this.each = () => {};
    this.onDropped = null; // (count, gap, time, frame) while frames count
    requestAnimationFrame((time) => this.#tick(time));
  }

  // How long a frame takes: the median of some that go by now.
  async measure(count = 60) {
    this.gaps = [];
    while (this.gaps.length < count) await new Promise((resolve) => setTimeout(resolve, 50));
    this.#learn();
  }

  #learn() {
    const sorted = [...this.gaps].sort((one, other) => one - other);
    if (sorted.length) this.period = sorted[Math.floor(sorted.length / 2)];
  }

  #tick(time) {
    requestAnimationFrame((next) => this.#tick(next));
    this.frame += 1;
    const gap = this.last === null ? 0 : time - this.last;
    this.last = time;
    if (gap > 0) this.gaps = [...this.gaps.slice(1 - REMEMBERED), gap];
    if (this.onDropped && gap > 1.5 * this.period) {
      this.onDropped(Math.round(gap / this.period) - 1, gap, time, this.frame);
    }
    this.each(time, this.frame);
  }
}
