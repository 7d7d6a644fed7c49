// The columns of the runs table: those every run has, and metrics and parameters that tell the runs apart.

import { ended, type Run } from "../api/types.ts";
import { best, betterOf } from "../better.ts";
import type { Cell } from "../csv.ts";
import { quoted } from "../filter.ts";
import { duration, number } from "../format.ts";
import { byInterest, withoutBatches } from "../metric_order.ts";
import { StateMark, Value, When } from "../parts/basics.tsx";
import type { Column } from "../parts/rows.tsx";

const metricsShown = 5;
const parametersShown = 3;

function counted(runs: readonly Run[], keys: (run: Run) => Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const run of runs) for (const key of keys(run)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

export interface Choices {
  metrics: string[];
  parameters: string[]; // of which the runs have different values come first
}

export function choices(runs: readonly Run[]): Choices {
  const sample = runs.slice(0, 500);
  const metrics = counted(sample, (run) => Object.keys(run.metrics));
  const parameters = counted(sample, (run) => Object.keys(run.parameters));
  const values = new Map<string, Set<string>>();
  for (const run of sample) for (const [key, value] of Object.entries(run.parameters)) values.set(key, (values.get(key) ?? new Set()).add(value));
  const rank = (key: string) => ((values.get(key)?.size ?? 0) > 1 ? 1e6 : 0) + (parameters.get(key) ?? 0);
  return {
    metrics: [...metrics.keys()].sort(byInterest),
    parameters: [...parameters.keys()].sort((a, b) => rank(b) - rank(a) || a.localeCompare(b)),
  };
}

/** Ids of the metrics' and parameters' columns that are shown when nobody has chosen. */
export function usual(runs: readonly Run[], { metrics, parameters }: Choices): string[] {
  const has = (key: string) => Math.round((4 * runs.slice(0, 500).filter((run) => key in run.metrics).length) / Math.max(1, Math.min(runs.length, 500)));
  const differ = (key: string) => new Set(runs.slice(0, 500).map((run) => run.parameters[key])).size > 1;
  const common = withoutBatches(metrics).sort((a, b) => has(b) - has(a) || byInterest(a, b));
  return [...common.slice(0, metricsShown).map((key) => `m:${key}`), ...parameters.filter(differ).slice(0, parametersShown).map((key) => `p:${key}`)];
}

export function took(run: Run, now: number): number {
  if (!run.started) return NaN;
  return (run.ended || (ended(run.state) ? NaN : now)) - run.started;
}

const short = (key: string) => (key.length > 24 ? `…${key.slice(-23)}` : key);

export function columnsOf(shown: readonly string[], now: number, experimentName: ((id: string) => string) | null): Column<Run>[] {
  const fixed: Column<Run>[] = [
    { id: "name", title: "Run", width: "minmax(15rem, 2fr)", sortable: true, fixed: true, cell: (run) => <span class="name" title={run.name}>{run.name}</span> },
    { id: "state", title: "State", width: "9.8rem", sortable: true, cell: (run) => <StateMark state={run.state} /> },
  ];
  if (experimentName) fixed.push({ id: "experiment", title: "Experiment", width: "minmax(8rem, 1fr)", cell: (run) => experimentName(run.experiment) });
  fixed.push(
    { id: "started", title: "Started", width: "6.5rem", sortable: true, cell: (run) => <When ms={run.started} now={now} /> },
    { id: "duration", title: "Took", width: "6.5rem", cell: (run) => duration(took(run, now)) },
    { id: "user", title: "User", width: "minmax(5rem, 0.6fr)", sortable: true, cell: (run) => run.user },
  );
  return [...fixed, ...shown.map((id): Column<Run> => {
    const key = id.slice(2);
    if (id.startsWith("m:"))
      return { id, title: short(key), hint: `metric ${key}`, width: "7rem", numeric: true, sortable: true, cell: (run) => (key in run.metrics ? number(run.metrics[key]!.value) : "") };
    if (id.startsWith("b:")) {
      const most = betterOf(key) === "most";
      return { id, title: `${most ? "max" : "min"} ${short(key)}`, hint: `${most ? "largest" : "smallest"} value of the metric ${key} so far`, width: "8rem", numeric: true, cell: (run) => (key in run.metrics ? number(best(run.metrics[key]!)) : "") };
    }
    return { id, title: short(key), hint: `parameter ${key}`, width: "minmax(6rem, 0.8fr)", sortable: true, cell: (run) => <Value text={run.parameters[key] ?? ""} /> };
  })];
}

/** The runs with these columns, for a spreadsheet: numbers with all their digits. */
export function tableOf(runs: readonly Run[], shown: readonly string[], experimentName: (id: string) => string): Cell[][] {
  const head = ["id", "name", "experiment", "user", "state", "started", "ended", ...shown.map((id) => ({ m: "last ", b: "best ", p: "" })[id[0] as "m"] + id.slice(2))];
  const date = (ms: number) => (ms > 0 ? new Date(ms).toISOString() : "");
  const cell = (run: Run, id: string): Cell => {
    const key = id.slice(2);
    if (id.startsWith("p:")) return run.parameters[key];
    const metric = run.metrics[key];
    return metric && (id.startsWith("b:") ? best(metric) : metric.value);
  };
  return [head, ...runs.map((run) => [run.id, run.name, experimentName(run.experiment), run.user, run.state, date(run.started), date(run.ended), ...shown.map((id) => cell(run, id))])];
}

const attributes: Record<string, string> = { state: "attributes.state", name: "attributes.run_name", started: "attributes.start_time", user: "attributes.user_id" };

/** In the server's language. */
export function orderOf(sort: { id: string; descending: boolean } | null): string {
  if (!sort) return "";
  const field = attributes[sort.id] ?? `${sort.id.startsWith("m:") ? "metrics" : "params"}.${quoted(sort.id.slice(2))}`;
  return `${field} ${sort.descending ? "DESC" : "ASC"}`;
}
