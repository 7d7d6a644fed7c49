// Runs that differ by nothing but their seed, as one band: mean and standard deviation over the runs at each step.

export interface Named {
  id: string;
  name: string;
  tags: Record<string, string>;
}

const seedAtEnd = /^(.+?)[-_ .,]*(?:seed|rng)[-_ =:]?\d+$/i;

/** What the run's group is called: its tag linac.group, else its name without the seed; null if it has none. */
export function groupName(run: Named): string | null {
  const tag = run.tags["linac.group"];
  if (tag) return tag;
  return seedAtEnd.exec(run.name)?.[1] ?? null;
}

export interface Group<T> {
  name: string;
  members: T[];
}

/** Groups of two runs or more, in the order of their first members, and what is left. */
export function grouped<T extends Named>(runs: readonly T[]): { groups: Group<T>[]; single: T[] } {
  const byName = new Map<string, T[]>();
  for (const run of runs) {
    const name = groupName(run);
    if (name !== null) byName.set(name, [...(byName.get(name) ?? []), run]);
  }
  const groups = [...byName].filter(([, members]) => members.length > 1).map(([name, members]) => ({ name, members }));
  const inGroup = new Set(groups.flatMap((group) => group.members.map((run) => run.id)));
  return { groups, single: runs.filter((run) => !inGroup.has(run.id)) };
}

export interface Line {
  x: readonly number[]; // rising
  y: readonly number[]; // NaN: nothing there
}

export interface Band {
  x: number[];
  mean: number[];
  low: number[];
  high: number[];
  runs: number[]; // how many there are at each x
}

/** Mean ± standard deviation (over n - 1) of the lines at every x one of them has, each taken linearly between its own points. */
export function band(lines: readonly Line[]): Band {
  const finite = lines.map((line) => {
    const kept = line.x.map((x, i) => [x, line.y[i]!] as const).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    return { x: kept.map(([x]) => x), y: kept.map(([, y]) => y) };
  });
  const xs = [...new Set(finite.flatMap((line) => line.x))].sort((a, b) => a - b);
  const at = finite.map(() => 0);
  const result: Band = { x: xs, mean: [], low: [], high: [], runs: [] };
  for (const x of xs) {
    let n = 0;
    let mean = 0;
    let squares = 0;
    finite.forEach((line, i) => {
      while (at[i]! + 1 < line.x.length && line.x[at[i]! + 1]! <= x) at[i]!++;
      const k = at[i]!;
      const left = line.x[k];
      if (left === undefined || left > x) return;
      let y = line.y[k]!;
      if (left < x) {
        const right = line.x[k + 1];
        if (right === undefined) return; // the run has ended before
        y += ((line.y[k + 1]! - y) * (x - left)) / (right - left);
      }
      n++;
      const difference = y - mean;
      mean += difference / n;
      squares += difference * (y - mean);
    });
    const deviation = n > 1 ? Math.sqrt(squares / (n - 1)) : 0;
    result.mean.push(mean);
    result.low.push(mean - deviation);
    result.high.push(mean + deviation);
    result.runs.push(n);
  }
  return result;
}
