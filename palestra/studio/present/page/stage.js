// Draws what is shown, in millimetres of the screen that the plan knows.

import { position } from "./paths.js";

const CROSS_MM = 14;
const LINE_MM = 1.6;

export class Stage {
  constructor(canvas, { screen, target_mm, patch_mm }) {
    Object.assign(this, { canvas, screen, target_mm, patch_mm, isLit: false });
    this.context = canvas.getContext("2d");
    addEventListener("resize", () => this.fit());
    this.fit();
  }

  fit() {
    this.canvas.width = Math.round(innerWidth * devicePixelRatio);
    this.canvas.height = Math.round(innerHeight * devicePixelRatio);
    this.x = this.canvas.width / this.screen.width_mm; // pixels of the display in a millimetre
    this.y = this.canvas.height / this.screen.height_mm;
    this.draw(null, 0);
  }

  flip() {
    this.isLit = !this.isLit;
  }

  // Nothing at all: before a block, after it and in a pause.
  darken() {
    this.isLit = false;
    this.draw(null, 0);
  }

  // An event at a share of its time, or nothing but the patch. Where a film is shown, it shines through.
  draw(event, share) {
    const { context, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(this.x, this.y);
    if (event?.shows === "cross") this.#cross();
    if (event?.path) this.#target(position(event.path, share));
    if (this.patch_mm) this.#patch();
  }

  #target([x, y]) {
    this.#disc(x, y, this.target_mm, "#fff");
    this.#disc(x, y, this.target_mm / 4, "#000");
  }

  #disc(x, y, diameter, colour) {
    this.context.fillStyle = colour;
    this.context.beginPath();
    this.context.arc(x, y, diameter / 2, 0, 2 * Math.PI);
    this.context.fill();
  }

  #cross() {
    const { context, screen } = this;
    const [x, y] = [screen.width_mm / 2, screen.height_mm / 2];
    context.fillStyle = "#fff";
    context.fillRect(x - CROSS_MM / 2, y - LINE_MM / 2, CROSS_MM, LINE_MM);
    context.fillRect(x - LINE_MM / 2, y - CROSS_MM / 2, LINE_MM, CROSS_MM);
  }

  #patch() {
    const { screen, patch_mm } = this;
    this.context.fillStyle = this.isLit ? "#fff" : "#000";
    this.context.fillRect(screen.width_mm - patch_mm, screen.height_mm - patch_mm, patch_mm, patch_mm);
  }
}
