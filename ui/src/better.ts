// Whether more of a metric is better, or less, by the table of metrics that linac has. Pure.

import type { Metric } from "./api/types.ts";
import { betterHigher, betterLower } from "./generated/run_record.ts";

export type Better = "least" | "most";

function named(part: string, names: readonly string[]): number {
  return names.reduce((longest, name) => (part === name || part.endsWith(`_${name}`) || part.startsWith(`${name}.`) ? Math.max(longest, name.length) : longest), 0);
}

/** By the last part of its name; null for a metric that the table does not know. */
export function betterOf(key: string): Better | null {
  const part = key.slice(key.lastIndexOf("/") + 1);
  const [most, least] = [named(part, betterHigher), named(part, betterLower)];
  return most > least ? "most" : least > 0 ? "least" : null;
}

/** The best value that a run has had; the least of a metric that is not known. */
export function best(metric: Metric): number {
  return betterOf(metric.key) === "most" ? metric.max : metric.min;
}

/** The places of the best among values; none if all are the same, or nothing is known to be better. */
export function bestOf(key: string, values: readonly number[]): Set<number> {
  const direction = betterOf(key);
  const finite = values.filter(Number.isFinite);
  const most = Math.max(...finite);
  const least = Math.min(...finite);
  if (direction === null || finite.length < 2 || most === least) return new Set();
  return new Set(values.flatMap((value, i) => (value === (direction === "most" ? most : least) ? [i] : [])));
}
