// The text of a log as lines to show. Pure.

// Colours and movements of a terminal, and a progress bar that writes over its own line.
const escapes = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-_]/g;

export function plain(line: string): string {
  const text = line.replace(escapes, "").replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
}

export const linesMax = 200_000;

/** `lines` with `text` behind them; the last line may be one that goes on. At most linesMax, the oldest are dropped. */
export function appended(lines: readonly string[], text: string): string[] {
  const parts = text.split("\n");
  const all = lines.length ? [...lines.slice(0, -1), (lines[lines.length - 1] ?? "") + parts[0], ...parts.slice(1)] : parts;
  return all.length > linesMax ? all.slice(all.length - linesMax) : all;
}

/** Indices of the lines that have `wanted` in them, whatever the case. */
export function found(lines: readonly string[], wanted: string): number[] {
  if (!wanted) return [];
  const lower = wanted.toLowerCase();
  const hits: number[] = [];
  lines.forEach((line, i) => line.toLowerCase().includes(lower) && hits.push(i));
  return hits;
}

export type Part = { text: string; hit: boolean };

export function marked(line: string, wanted: string): Part[] {
  if (!wanted) return [{ text: line, hit: false }];
  const parts: Part[] = [];
  const lower = line.toLowerCase();
  const length = wanted.length;
  let from = 0;
  for (let at = lower.indexOf(wanted.toLowerCase()); at >= 0; at = lower.indexOf(wanted.toLowerCase(), from)) {
    if (at > from) parts.push({ text: line.slice(from, at), hit: false });
    parts.push({ text: line.slice(at, at + length), hit: true });
    from = at + length;
  }
  if (from < line.length) parts.push({ text: line.slice(from), hit: false });
  return parts;
}

/** By the letter in a line of linac, or a word near the beginning of any other. */
export function severity(line: string): "" | "error" | "warning" {
  const ours = /^\d\d:\d\d:\d\d ([EW]) /.exec(line)?.[1];
  const word = /\b(error|fatal|critical|warn(?:ing)?)\b/i.exec(line.slice(0, 120))?.[0]?.toLowerCase() ?? "";
  if (ours === "E" || /error|fatal|critical/.test(word)) return "error";
  return ours === "W" || /warn/.test(word) ? "warning" : "";
}
