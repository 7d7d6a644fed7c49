// A chart as a table and as a picture, as it is drawn.

import { csv, fileName, save, type Cell } from "../csv.ts";
import { colors } from "../parts/palette.ts";
import type { Axis, DrawnLine } from "./lines.ts";

const heads: Record<Axis, string> = { step: "step", epoch: "epoch", relative: "seconds since start", time: "seconds since 1970" };

/** A row for each place that a line has a value at; of bands and envelopes also the edges. */
export function tableOfLines(lines: readonly DrawnLine[], axis: Axis): Cell[][] {
  const parts = (line: DrawnLine) => (line.low && line.high ? (["y", "low", "high"] as const) : (["y"] as const));
  const places = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const at = lines.map((line) => new Map(line.x.map((x, i) => [x, i])));
  const head = [heads[axis], ...lines.flatMap((line) => parts(line).map((part) => (part === "y" ? line.label : `${line.label}, ${part}`)))];
  return [head, ...places.map((x) => [x, ...lines.flatMap((line, k) => parts(line).map((part): Cell => (at[k]!.has(x) ? line[part]![at[k]!.get(x)!] : null)))])];
}

export function saveLines(metric: string, lines: readonly DrawnLine[], axis: Axis): void {
  save(fileName(metric, "csv"), new Blob([csv(tableOfLines(lines, axis))], { type: "text/csv" }));
}

/** The canvas on its ground, with the metric above and the lines' names below. */
export function savePicture(metric: string, lines: readonly DrawnLine[], canvas: HTMLCanvasElement): void {
  const ratio = devicePixelRatio;
  const [px, left] = [16 * ratio, 12 * ratio];
  const palette = colors();
  const picture = document.createElement("canvas");
  picture.width = canvas.width;
  picture.height = canvas.height + (lines.length + 2) * px + px;
  const pen = picture.getContext("2d")!;
  pen.fillStyle = palette.ground;
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.textBaseline = "middle";
  pen.font = `600 ${13 * ratio}px system-ui, sans-serif`;
  pen.fillStyle = palette.strong;
  pen.fillText(metric, left, px);
  pen.drawImage(canvas, 0, 2 * px);
  pen.font = `${11 * ratio}px system-ui, sans-serif`;
  lines.forEach((line, i) => {
    const y = 2 * px + canvas.height + (i + 0.5) * px;
    pen.fillStyle = palette.lines[line.color % palette.lines.length]!;
    pen.fillRect(left, y - 2 * ratio, 14 * ratio, 4 * ratio);
    pen.fillStyle = palette.text;
    pen.fillText(line.label, left + 20 * ratio, y, picture.width - left - 24 * ratio);
  });
  picture.toBlob((blob) => blob && save(fileName(metric, "png"), blob), "image/png");
}
