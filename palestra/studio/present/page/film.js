// Plays the organiser's films. The first frame that is presented is a film's onset.

export class Film {
  constructor(video, captioned) {
    this.video = video;
    this.captioned = captioned;
    this.number = null;
  }

  // Loads a film while the cross before it is shown.
  prepare(number, language) {
    this.number = number;
    this.video.replaceChildren();
    this.video.src = `/films/${number}`;
    if (this.captioned.includes(number)) {
      const track = document.createElement("track");
      Object.assign(track, { kind: "subtitles", src: `/subtitles/${number}`, srclang: language, default: true });
      this.video.append(track);
    }
    this.video.load();
  }

  // onFrame(time of the first frame), then onEnd(); or onTrouble(why).
  play({ onFrame, onEnd, onTrouble }) {
    const { video } = this;
    video.onended = onEnd;
    video.onerror = () => onTrouble(video.error?.message || "the browser cannot play it");
    if (video.error) return video.onerror();
    video.requestVideoFrameCallback((time) => {
      video.classList.add("shown");
      onFrame(time);
    });
    video.play().catch((error) => {
      if (error.name !== "AbortError") onTrouble(error.message);
    });
  }

  stop() {
    const { video } = this;
    video.onended = video.onerror = null;
    video.classList.remove("shown");
    video.pause();
    video.removeAttribute("src");
    video.replaceChildren();
    video.load();
    this.number = null;
  }
}
