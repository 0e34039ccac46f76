// Where a target is at a share of its time, in millimetres. plans/paths.py is the same for Python.

const between = (start, end, share) => [0, 1].map((i) => start[i] + (end[i] - start[i]) * share);

function onArc([middle, start, end], share) {
  const angle = (place) => Math.atan2(place[1] - middle[1], place[0] - middle[0]);
  const full = 2 * Math.PI;
  const turn = ((angle(end) - angle(start)) % full + full) % full || full;
  const radius = Math.hypot(start[0] - middle[0], start[1] - middle[1]);
  const at = angle(start) + turn * share;
  return [middle[0] + radius * Math.cos(at), middle[1] + radius * Math.sin(at)];
}

export function position({ shape, points }, share) {
  share = Math.min(Math.max(share, 0), 1);
  if (shape === "still") return points[0];
  if (shape === "line") return between(points[0], points[1], share);
  if (shape === "arc") return onArc(points, share);
  const [start, middle, end] = points;
  return between(between(start, middle, share), between(middle, end, share), share);
}
