// Parameters and metrics of runs as axes: of numbers, straight or logarithmic, or of words. Pure.

import type { Run } from "./api/types.ts";
import { byInterest } from "./metric_order.ts";
import { number } from "./format.ts";

export interface Axis {
  id: string; // "p:lr", "m:loss"
  title: string;
  log: boolean;
  words: boolean;
  place: (run: Run) => number | null; // 0..1; null: it has none
  text: (run: Run) => string;
  ticks: { at: number; text: string }[];
}

const wordsMax = 24; // an axis of more tells nothing
const logFrom = 100; // the largest value over the smallest

function valueOf(run: Run, id: string): string | number | undefined {
  const key = id.slice(2);
  return id.startsWith("m:") ? run.metrics[key]?.value : run.parameters[key];
}

function numberOf(value: string | number | undefined): number {
  return typeof value === "number" ? value : value === undefined || value.trim() === "" ? NaN : Number(value);
}

/** Ends and some round values between them. */
export function ticksOf(low: number, high: number, log: boolean, whole = false): number[] {
  if (low === high) return [low];
  if (log) {
    const powers: number[] = [];
    for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) powers.push(10 ** power);
    return powers.length >= 2 ? powers.filter((_, i) => i % Math.ceil(powers.length / 6) === 0) : [low, high];
  }
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((one) => one >= rough && !(whole && one < 1)) ?? 1;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

export function axisOf(id: string, runs: readonly Run[]): Axis | null {
  const title = id.slice(2);
  const values = runs.map((run) => valueOf(run, id)).filter((value) => value !== undefined);
  const numbers = values.map(numberOf);
  const text = (run: Run) => {
    const value = valueOf(run, id);
    return value === undefined ? "" : typeof value === "number" ? number(value) : value;
  };
  if (id.startsWith("m:") || (values.length > 0 && numbers.every((value) => !Number.isNaN(value)))) {
    const finite = numbers.filter(Number.isFinite);
    if (finite.length === 0) return null;
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const log = low > 0 && high / low >= logFrom;
    const scale = (value: number) => (low === high ? 0.5 : log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    const place = (run: Run) => {
      const value = numberOf(valueOf(run, id));
      return Number.isFinite(value) ? scale(value) : null;
    };
    return { id, title, log, words: false, place, text, ticks: ticksOf(low, high, log, finite.every(Number.isInteger)).map((value) => ({ at: scale(value), text: number(value, 4) })) };
  }
  const words = [...new Set(values.map(String))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  if (words.length === 0 || words.length > wordsMax) return null;
  const at = (word: string) => (words.length === 1 ? 0.5 : words.indexOf(word) / (words.length - 1));
  return { id, title, log: false, words: true, place: (run) => (valueOf(run, id) === undefined ? null : at(String(valueOf(run, id)))), text, ticks: words.map((word) => ({ at: at(word), text: word })) };
}

/** Whether the runs have different places on it. */
export const differs = (axis: Axis, runs: readonly Run[]): boolean => new Set(runs.map(axis.place)).size > 1;

/** What can be an axis: parameters that differ, and metrics. */
export function axesOf(runs: readonly Run[]): Axis[] {
  const parameters = [...new Set(runs.flatMap((run) => Object.keys(run.parameters)))].filter((key) => new Set(runs.map((run) => run.parameters[key])).size > 1).sort();
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort(byInterest);
  return [...parameters.map((key) => `p:${key}`), ...metrics.map((key) => `m:${key}`)].map((id) => axisOf(id, runs)).filter((axis) => axis !== null);
}
