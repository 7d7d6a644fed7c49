// The physics figures of one or several runs, each beside its floor.

import { files, fileHref, textFile } from "../api/folders.ts";
import type { Run } from "../api/types.ts";
import { inFloors, physicsReport, withError, type PhysicsReport } from "../figures.ts";
import { number } from "../format.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf } from "../router.ts";

const bytesMax = 5_000_000;
const foldersMax = 12;

/** The first report of showers in the run's folder and the folders in it that are called so. */
async function reportOf(run: string, signal: AbortSignal): Promise<PhysicsReport | null> {
  const top = await files(run, "", signal);
  const folders = top.filter((entry) => entry.folder && /report|valid|physics|compar|gate/i.test(entry.path)).slice(0, foldersMax);
  const inside = await Promise.all(folders.map((folder) => files(run, folder.path, signal).catch(() => [])));
  for (const entry of [...top, ...inside.flat()]) {
    if (entry.folder || !/(^|\/)[^/]*(report|validation)[^/]*\.json$/i.test(entry.path) || entry.bytes > bytesMax) continue;
    const report = physicsReport(entry.path, (await textFile(fileHref(run, entry.path), signal, bytesMax)).text);
    if (report) return report;
  }
  return null;
}

async function reportsOf(runs: readonly Run[], signal: AbortSignal): Promise<(PhysicsReport | null)[]> {
  const found: (PhysicsReport | null)[] = [];
  for (const run of runs) {
    found.push(await reportOf(run.id, signal).catch(() => null));
    signal.throwIfAborted();
  }
  return found;
}

const signs: Record<string, string> = { passed: "✓", failed: "✕", undecided: "?" };

export function Physics({ runs }: { runs: readonly Run[] }) {
  const { value, error, again } = useLoaded((signal) => reportsOf(runs, signal), [runs.map((run) => run.id + run.state).join(",")]);
  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Empty>loading…</Empty>;
  const there = runs.flatMap((run, i) => (value[i] ? [{ run, report: value[i] }] : []));
  if (there.length === 0)
    return (
      <Empty>
        No figures of showers. <code>linac validate --out report</code> makes them; <code>linac artifacts put RUN report/report.json validation/report.json</code> brings them here.
      </Empty>
    );
  const names = [...new Map(there.flatMap(({ report }) => report.figures.map((figure) => [figure.name, figure.title] as const)))];
  return (
    <section class="card">
      <header>
        <h2>Physics figures</h2>
        <span class="small">between the sample and its reference, and, as the floor, between halves of the reference</span>
      </header>
      <Table label="Physics figures" head={["figure", ...there.flatMap(({ run, report }) => [{ numeric: there.length > 1 ? run.name : "sample" }, { numeric: "floor" }, { numeric: "sample / floor" }, ...(report.verdict ? ["verdict"] : [])])]}>
        {names.map(([name, title]) => (
          <tr key={name}>
            <th scope="row" title={name}>
              {title || name}
            </th>
            {there.flatMap(({ run, report }) => {
              const figure = report.figures.find((one) => one.name === name);
              const floors = figure ? inFloors(figure) : NaN;
              return [
                <td key={`${run.id} value`} class="numeric">{figure ? withError(figure.value, figure.uncertainty) : ""}</td>,
                <td key={`${run.id} floor`} class="numeric">{figure && figure.floor > 0 ? withError(figure.floor, figure.floorDeviation) : "–"}</td>,
                <td key={`${run.id} floors`} class={`numeric ${floors > 3 ? "bad" : ""}`}>{Number.isNaN(floors) ? "–" : `${number(floors, 3)} ×`}</td>,
                ...(report.verdict ? [<td key={`${run.id} verdict`} class={figure?.verdict === "failed" ? "bad" : ""}>{figure?.verdict ? `${signs[figure.verdict] ?? ""} ${figure.verdict}` : "–"}</td>] : []),
              ];
            })}
          </tr>
        ))}
      </Table>
      <p class="note">
        {there.map(({ run, report }) => (
          <span key={run.id}>
            <a href={hashOf(["runs", run.id], { tab: "files" })}>{run.name}</a>: {report.path}
            {Number.isFinite(report.events) && `, ${number(report.events)} showers`}
            {report.reference && `, against ${report.reference}`}
            {report.verdict && `; ${report.verdict}`}.{" "}
          </span>
        ))}
      </p>
    </section>
  );
}
