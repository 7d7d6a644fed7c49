// Pictures of runs, sorted into series: "epoch-001.png", "epoch-002.png" are one, by their last number. Pure.

import type { FileEntry } from "./api/folders.ts";

export interface Series {
  name: string; // "epoch-#.png"; of a picture that has no number its own name
  numbers: number[]; // of all runs, rising; empty: a single picture
}

const pictureName = /\.(png|jpe?g|gif|webp)$/i;
const lastNumber = /^(.*?)(\d{1,12})(\D*\.[a-z]+)$/i;

export const isPicture = (path: string): boolean => pictureName.test(path);
const leaf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** The series that a picture belongs to, and its number in it. */
export function placeOf(path: string): { series: string; number: number } {
  const name = leaf(path);
  const [, before, digits, behind] = lastNumber.exec(name) ?? [];
  return digits === undefined ? { series: name, number: NaN } : { series: `${before}#${behind}`, number: Number(digits) };
}

/** Of all runs; those that go over epochs first. */
export function seriesOf(runs: readonly (readonly FileEntry[])[]): Series[] {
  const found = new Map<string, Set<number>>();
  for (const files of runs)
    for (const file of files) {
      if (file.folder || !isPicture(file.path)) continue;
      const { series, number } = placeOf(file.path);
      found.set(series, (found.get(series) ?? new Set()).add(number));
    }
  return [...found]
    .map(([name, numbers]) => ({ name, numbers: [...numbers].filter((one) => !Number.isNaN(one)).sort((a, b) => a - b) }))
    .sort((a, b) => b.numbers.length - a.numbers.length || a.name.localeCompare(b.name));
}

/** A run's picture of the series at `number`, else the nearest before it, else its first; null if it has none of it. */
export function pictureAt(files: readonly FileEntry[], series: string, number: number): { file: FileEntry; number: number } | null {
  let best: { file: FileEntry; number: number } | null = null;
  for (const file of files) {
    if (file.folder || !isPicture(file.path)) continue;
    const place = placeOf(file.path);
    if (place.series !== series) continue;
    const there = { file, number: place.number };
    if (Number.isNaN(place.number)) return there;
    const nearer = best === null || (place.number <= number ? best.number > number || place.number > best.number : best.number > number && place.number < best.number);
    if (nearer) best = there;
  }
  return best;
}
