// From curves to what is drawn: lines with their envelopes, bands of groups, marks where values were not finite. Pure.

import type { Stretch } from "../api/types.ts";
import { lostSteps } from "../gaps.ts";
import { epochAt, type EpochEnd } from "./epochs.ts";
import { band } from "./groups.ts";
import { smoothed } from "./smoothing.ts";

export type Axis = "step" | "epoch" | "relative" | "time";

export interface Drawing {
  axis: Axis;
  smoothing: number; // weight, 0..1
  log: boolean;
  groups: ReadonlyMap<string, string> | null; // by run, the name of the group that is drawn as one band; null: each by itself
  envelope: boolean;
  epochs: ReadonlyMap<string, readonly EpochEnd[]>; // by run; of one that is missing nothing is drawn over epochs
}

export interface Curve {
  run: { id: string; name: string; started: number; tags: Readonly<Record<string, string>> };
  color: number; // place in the palette
  stretches: readonly Stretch[];
}

export interface DrawnLine {
  label: string;
  color: number;
  x: number[]; // strictly rising
  y: (number | null)[]; // null: a gap
  faint: (number | null)[] | null; // as it is, behind the smoothed one
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  marks: number[]; // where values were not finite
}

function place(stretch: Stretch, axis: Axis, started: number, ends: readonly EpochEnd[]): number {
  if (axis === "epoch") return epochAt(ends, stretch.last);
  if (axis === "step") return stretch.last;
  return axis === "time" ? stretch.time / 1000 : (stretch.time - started) / 1000;
}

/** The places of a curve's stretches; clocks stand still or go back, an axis does not. */
function places(curve: Curve, axis: Axis, drawing: Drawing): number[] {
  const ends = drawing.epochs.get(curve.run.id) ?? [];
  const started = curve.run.started || curve.stretches[0]?.time || 0;
  let before = -Infinity;
  return curve.stretches.map((stretch) => {
    const x = place(stretch, axis, started, ends);
    before = x > before ? x : before + 1e-3;
    return before;
  });
}

function drawable(values: readonly number[], log: boolean): (number | null)[] {
  return values.map((value) => (Number.isFinite(value) && (!log || value > 0) ? value : null));
}

/** The lower edge on a logarithmic axis ends where the line's own values end. */
function edge(values: readonly number[], line: readonly number[], log: boolean): (number | null)[] {
  if (!log) return drawable(values, false);
  const floor = line.reduce((least, value) => (value > 0 && value < least ? value : least), Infinity);
  return values.map((value, i) => (!Number.isFinite(value) || !(line[i]! > 0) ? null : Math.max(value, floor / 10)));
}

/** Before which stretches lines of the record are lost: where neighbours are further apart than they are elsewhere. What comes once an
 * epoch lacks nothing there. */
function breaks(curve: Curve): number[] {
  const lost = lostSteps(curve.run.tags);
  const { stretches } = curve;
  if (lost.length === 0 || stretches.length < 2) return [];
  const apart = stretches.slice(1).map((stretch, i) => stretch.first - stretches[i]!.last);
  const usual = [...apart].sort((a, b) => a - b)[apart.length >> 1]!;
  return apart.flatMap((distance, i) => (distance > usual && lost.some(({ first, last }) => first > stretches[i]!.last && last < stretches[i + 1]!.first) ? [i + 1] : []));
}

/** The line with nothing drawn there. */
function broken(line: DrawnLine, at: readonly number[]): DrawnLine {
  if (at.length === 0) return line;
  const nothing = (values: (number | null)[] | null) => values && values.flatMap((value, i) => (at.includes(i) ? [null, value] : [value]));
  const x = line.x.flatMap((value, i) => (at.includes(i) ? [(line.x[i - 1]! + value) / 2, value] : [value]));
  return { ...line, x, y: nothing(line.y)!, faint: nothing(line.faint), low: nothing(line.low), high: nothing(line.high) };
}

function single(curve: Curve, drawing: Drawing): DrawnLine {
  const raw = curve.stretches.map((stretch) => stretch.value);
  const y = smoothed(raw, drawing.smoothing);
  const x = places(curve, drawing.axis, drawing);
  const wide = drawing.envelope && curve.stretches.some((stretch) => stretch.count > 1 && stretch.max > stretch.min);
  const line = {
    label: curve.run.name,
    color: curve.color,
    x,
    y: drawable(y, drawing.log),
    faint: drawing.smoothing > 0 ? drawable(raw, drawing.log) : null,
    low: wide ? edge(curve.stretches.map((stretch) => stretch.min), raw, drawing.log) : null,
    high: wide ? edge(curve.stretches.map((stretch) => stretch.max), raw, drawing.log) : null,
    marks: x.filter((_, i) => curve.stretches[i]!.notFinite > 0),
  };
  return broken(line, breaks(curve));
}

export function lines(all: readonly Curve[], drawing: Drawing): DrawnLine[] {
  const curves = drawing.axis === "epoch" ? all.filter((curve) => drawing.epochs.get(curve.run.id)?.length) : all;
  const { groups } = drawing;
  if (!groups) return curves.map((curve) => single(curve, drawing));
  const byGroup = new Map<string, Curve[]>();
  for (const curve of curves) {
    const name = groups.get(curve.run.id);
    if (name !== undefined) byGroup.set(name, [...(byGroup.get(name) ?? []), curve]);
  }
  const inBand = new Set([...byGroup].filter(([, members]) => members.length > 1).map(([name]) => name));
  const bands = [...byGroup].filter(([name]) => inBand.has(name)).map(([name, members]): DrawnLine => {
    const axis = drawing.axis === "time" ? "relative" : drawing.axis;
    const parts = members.map((curve) => ({
      x: places(curve, axis, drawing),
      y: smoothed(curve.stretches.map((stretch) => stretch.value), drawing.smoothing),
    }));
    const { x, mean, low, high } = band(parts);
    const marks = members.flatMap((curve, i) => parts[i]!.x.filter((_, k) => curve.stretches[k]!.notFinite > 0));
    return {
      label: `${name} (${members.length} runs, mean ± σ)`,
      color: members[0]!.color,
      x,
      y: drawable(mean, drawing.log),
      faint: null,
      low: edge(low, mean, drawing.log),
      high: edge(high, mean, drawing.log),
      marks: [...new Set(marks)].sort((a, b) => a - b),
    };
  });
  return [...bands, ...curves.filter((curve) => !inBand.has(groups.get(curve.run.id) ?? "")).map((curve) => single(curve, drawing))];
}
