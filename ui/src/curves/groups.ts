// Runs that differ by nothing but their seed, as one band: mean and standard deviation over the runs at each step. An array over
// seeds and learning rates has a band for each learning rate.

export interface Named {
  id: string;
  name: string;
  tags: Record<string, string>;
  parameters: Record<string, string>;
}

const seedAtEnd = /^(.+?)[-_ .,]*(?:seed|rng)[-_ =:]?\d+$/i;
const memberAtEnd = /^(.+?)-\d+(?: .*)?$/; // as a job of an array is named, with its settings behind
const seedKey = /(^|[._/-])seed$/i;
const told = 3; // settings in a group's name

/** What might make the run part of a group: its tag linac.group, else its name without the seed; null if neither says so. */
export function familyOf(run: Named): string | null {
  return run.tags["linac.group"] || (seedAtEnd.exec(run.name)?.[1] ?? null);
}

/** As words that name it: the tag, where somebody has chosen it, else what its runs' names begin with. */
function familyName(family: string, runs: readonly Named[]): string {
  if (!runs.every((run) => "linac.group.index" in run.tags)) return family; // else the service has made it up, for an array
  const names = new Set(runs.map((run) => memberAtEnd.exec(run.name)?.[1] ?? seedAtEnd.exec(run.name)?.[1] ?? run.name));
  return names.size === 1 ? [...names][0]! : `${[...names][0]} …`;
}

/** Texts of the same number are the same: 1e-3 is 0.001. */
function same(text: string): string {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? String(value) : text;
}

/** All parameters but the seed, as text that is the same for runs that differ by nothing else. */
function settingsOf(run: Named): string {
  const others = Object.entries(run.parameters).filter(([key]) => !seedKey.test(key));
  return JSON.stringify(others.map(([key, value]) => [key, same(value)]).sort());
}

export interface Group<T> {
  name: string;
  members: T[];
}

/** "lr=0.001": which settings tell this run from others of its family, by the shortest end of their names that is clear. */
function difference(run: Named, keys: readonly string[]): string {
  const short = (key: string) => {
    const end = key.slice(key.lastIndexOf(".") + 1);
    return keys.filter((one) => one.slice(one.lastIndexOf(".") + 1) === end).length === 1 ? end : key;
  };
  const words = keys.map((key) => `${short(key)}=${key in run.parameters ? same(run.parameters[key]!) : "–"}`);
  return words.length > told ? `${words.slice(0, told).join(", ")}, …` : words.join(", ");
}

/**
 * Groups of two runs or more whose parameters are the same but for the seed, in the order of their first members, and what is left.
 * A group is named by its family, and by what tells it from the family's other runs.
 */
export function grouped<T extends Named>(runs: readonly T[]): { groups: Group<T>[]; single: T[] } {
  const families = new Map<string, T[]>();
  for (const run of runs) {
    const family = familyOf(run);
    if (family !== null) families.set(family, [...(families.get(family) ?? []), run]);
  }
  const groups: Group<T>[] = [];
  const names = new Set<string>();
  for (const [family, kin] of families) {
    const bySettings = new Map<string, T[]>();
    for (const run of kin) bySettings.set(settingsOf(run), [...(bySettings.get(settingsOf(run)) ?? []), run]);
    const keys = [...new Set(kin.flatMap((run) => Object.keys(run.parameters)))].filter((key) => !seedKey.test(key) && new Set(kin.map((run) => same(run.parameters[key] ?? ""))).size > 1).sort();
    for (const members of bySettings.values()) {
      if (members.length < 2) continue;
      const name = [familyName(family, kin), difference(members[0]!, keys)].filter(Boolean).join(", ");
      const own = names.has(name) ? `${name} (${members[0]!.id.slice(0, 6)})` : name;
      names.add(own);
      groups.push({ name: own, members });
    }
  }
  const place = new Map(runs.map((run, i) => [run.id, i]));
  groups.sort((a, b) => place.get(a.members[0]!.id)! - place.get(b.members[0]!.id)!);
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
