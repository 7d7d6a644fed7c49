// Several runs side by side: curves over each other, and a table of what differs.

import { useMemo, useState } from "preact/hooks";
import { runDetail } from "../api/tracking.ts";
import type { RunDetail } from "../api/types.ts";
import { bestOf } from "../better.ts";
import { saveCsv } from "../csv.ts";
import { CurvesView } from "../curves/view.tsx";
import { number } from "../format.ts";
import { byInterest } from "../metric_order.ts";
import { Empty, Failure, StateMark, Tabs, Value } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Views } from "../parts/views.tsx";
import { hashOf, type Place } from "../router.ts";
import { Parallel, Scatter } from "./compare_axes.tsx";
import { Logs } from "./compare_logs.tsx";
import { Physics } from "./physics.tsx";
import { Pictures } from "./pictures.tsx";
import { comparedMax } from "./runs.tsx";

const atOnce = 6; // requests

async function loadAll(ids: readonly string[], signal: AbortSignal): Promise<RunDetail[]> {
  const found: RunDetail[] = new Array<RunDetail>(ids.length);
  let next = 0;
  const work = async () => {
    while (next < ids.length) {
      const place = next++;
      found[place] = await runDetail(ids[place]!, signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, ids.length) }, work));
  return found;
}

function Differences({ runs }: { runs: readonly RunDetail[] }) {
  const [all, setAll] = useState(false);
  const parameters = [...new Set(runs.flatMap((run) => Object.keys(run.parameters)))].sort();
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort(byInterest);
  const differ = parameters.filter((key) => new Set(runs.map((run) => run.parameters[key])).size > 1);
  const shown = all ? parameters : differ;
  const bestAt = (key: string) => bestOf(key, runs.map((run) => run.metrics[key]?.value ?? NaN));
  const rows = (title: string, keys: readonly string[], cell: (run: RunDetail, key: string) => string, numeric: boolean) => (
    <tbody>
      <tr>
        <th colSpan={runs.length + 1} scope="colgroup">
          {title}
        </th>
      </tr>
      {keys.map((key) => (
        <tr key={key} class={!numeric && new Set(runs.map((run) => cell(run, key))).size > 1 ? "differs" : ""}>
          <th scope="row">{key}</th>
          {runs.map((run, i) => {
            const leads = numeric && bestAt(key).has(i);
            return (
              <td key={run.id} class={`${numeric ? "numeric" : ""} ${leads ? "best" : ""}`} title={leads ? "the best of these" : undefined}>
                <Value text={cell(run, key)} />
                {leads && <span class="hidden"> best</span>}
              </td>
            );
          })}
        </tr>
      ))}
    </tbody>
  );
  return (
    <section class="card">
      <header>
        <h2>Side by side</h2>
        <button type="button" onClick={() => saveCsv("side-by-side", [["", ...runs.map((run) => run.name)], ...parameters.map((key) => [key, ...runs.map((run) => run.parameters[key])]), ...metrics.map((key) => [key, ...runs.map((run) => run.metrics[key]?.value)])])}>
          CSV
        </button>
        <label>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> also what they share
        </label>
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs side by side">
        <table class="plain">
          <thead>
            <tr>
              <td />
              {runs.map((run) => (
                <th key={run.id} scope="col">
                  <a href={hashOf(["runs", run.id])}>{run.name}</a> <StateMark state={run.state} short />
                </th>
              ))}
            </tr>
          </thead>
          {shown.length > 0 && rows("Parameters", shown, (run, key) => run.parameters[key] ?? "", false)}
          {rows("Metrics, last values", metrics, (run, key) => (key in run.metrics ? number(run.metrics[key]!.value) : ""), true)}
        </table>
      </div>
      {!all && differ.length === 0 && <p class="note">All parameters are the same.</p>}
    </section>
  );
}

const tabs = [
  { id: "curves", title: "Curves" },
  { id: "table", title: "Side by side" },
  { id: "parallel", title: "Parallel" },
  { id: "scatter", title: "Scatter" },
  { id: "pictures", title: "Pictures" },
  { id: "physics", title: "Physics" },
  { id: "logs", title: "Logs" },
];

export function ComparePage({ place }: { place: Place }) {
  const ids = useMemo(() => [...new Set((place.query.get("runs") ?? "").split(",").filter(Boolean))].slice(0, comparedMax), [place.query.get("runs")]);
  const { value, error, again } = useLoaded((signal) => loadAll(ids, signal), [ids.join(",")]);
  const tab = place.query.get("tab") ?? "curves";
  const href = (id: string) => hashOf(["compare"], { runs: ids.join(","), tab: id });
  const shown = (runs: readonly RunDetail[]) => {
    switch (tab) {
      case "table":
        return <Differences runs={runs} />;
      case "parallel":
        return <Parallel runs={runs} place={place} />;
      case "scatter":
        return <Scatter runs={runs} place={place} />;
      case "pictures":
        return <Pictures runs={runs} place={place} />;
      case "physics":
        return <Physics runs={runs} />;
      case "logs":
        return <Logs runs={runs} place={place} />;
      default:
        return <CurvesView runs={runs} changed={again} />;
    }
  };
  return (
    <main class="page">
      <header class="title">
        <h1>Compare {ids.length} runs</h1>
        <span class="push">
          <Views page="#/compare?" />
        </span>
      </header>
      <Tabs label="Views" tabs={tabs} chosen={tab} href={href} />
      <Failure error={error} again={again} />
      {!value && !error && <Empty>loading…</Empty>}
      {value && shown(value)}
    </main>
  );
}
