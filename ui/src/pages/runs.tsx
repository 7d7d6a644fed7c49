// The runs table: search, sort, tick, compare.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { experiments as loadExperiments } from "../api/tracking.ts";
import { archived, archivedTag, deleteRun, restoreRun, setArchived } from "../api/changes.ts";
import type { Me, Run } from "../api/types.ts";
import { saveCsv } from "../csv.ts";
import { faultOf, filterOf } from "../filter.ts";
import { duration, number } from "../format.ts";
import { Dialog, Empty, Failure, StateMark, When } from "../parts/basics.tsx";
import { useAction } from "../parts/action.tsx";
import { useKept, useLoaded, useNow, useSettled } from "../parts/hooks.ts";
import { Rows } from "../parts/rows.tsx";
import { Views } from "../parts/views.tsx";
import { VisibilitySwitch } from "../parts/visibility.tsx";
import { go, hashOf, ofWords, replaceQuery, wordsOf, type Place } from "../router.ts";
import { choices, columnsOf, orderOf, tableOf, took, usual, type Choices } from "./columns.tsx";
import { everyRun, useRuns, type RunsView } from "./runs_list.ts";

export const comparedMax = 50;
const columnsMost = 60;

function FilterBox({ value, onInput, error, sent }: { value: string; onInput: (text: string) => void; error: Error | undefined; sent: string }) {
  const fault = error && sent ? faultOf(sent, error.message) : null;
  return (
    <div class="filter">
      <input
        id="filter"
        type="search"
        spellcheck={false}
        autocomplete="off"
        placeholder="words of a name, or: metrics.loss < 0.1 and params.lr = '0.001'"
        aria-label="Filter runs"
        aria-invalid={Boolean(fault)}
        aria-describedby={fault ? "fault" : undefined}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      {fault && (
        <p id="fault" class="fault" role="alert">
          <code>
            {fault.before}
            <mark>{fault.at}</mark>
            {fault.behind}
          </code>
          <span>{fault.message}</span>
        </p>
      )}
    </div>
  );
}

function ColumnsDialog({ offered, shown, onChange, close }: { offered: Choices; shown: readonly string[]; onChange: (shown: string[] | null) => void; close: () => void }) {
  const [find, setFind] = useState("");
  const toggle = (id: string) => onChange(shown.includes(id) ? shown.filter((one) => one !== id) : [...shown, id]);
  const list = (title: string, prefix: string, keys: readonly string[]) => (
    <fieldset>
      <legend>{title}</legend>
      {keys
        .filter((key) => key.toLowerCase().includes(find.toLowerCase()))
        .slice(0, 300)
        .map((key) => (
          <label key={key}>
            <input type="checkbox" checked={shown.includes(prefix + key)} onChange={() => toggle(prefix + key)} /> {key}
          </label>
        ))}
    </fieldset>
  );
  return (
    <Dialog title="Columns" close={close}>
      <input type="search" placeholder="find" aria-label="Find columns" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
      <div class="choices">
        {list("Metrics, last values", "m:", offered.metrics)}
        {list("Metrics, best values", "b:", offered.metrics)}
        {list("Parameters", "p:", offered.parameters)}
      </div>
      <button type="button" onClick={() => onChange(null)}>
        As usual
      </button>
    </Dialog>
  );
}

function Narrow({ run, metric, now }: { run: Run; metric: string | undefined; now: number }) {
  return (
    <>
      <div class="line">
        <StateMark state={run.state} short />
        <span class="name">{run.name}</span>
        <span class="push">
          <When ms={run.started || run.created} now={now} />
        </span>
      </div>
      <div class="line small">
        <span>{run.user}</span>
        <span>{duration(took(run, now))}</span>
        {metric && metric in run.metrics && (
          <span class="push">
            {metric} {number(run.metrics[metric]!.value, 4)}
          </span>
        )}
      </div>
    </>
  );
}

/** "/" goes to the filter, wherever one is. */
function useSlash(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || (event.target as Element).matches("input, textarea, select")) return;
      event.preventDefault();
      document.querySelector<HTMLInputElement>("#filter")?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** What is typed, and what of it stands in the address: written there when it settles, read from there when a link says otherwise. */
function useFilterText(place: Place): [string, (text: string) => void, string] {
  const address = place.query.get("filter") ?? "";
  const [typed, setTyped] = useState(address);
  const written = useRef(address);
  const settled = useSettled(typed, 250);
  useEffect(() => {
    if (address === written.current) return;
    written.current = address;
    setTyped(address);
  }, [address]);
  useEffect(() => {
    if (settled === written.current || settled !== typed) return;
    written.current = settled;
    replaceQuery({ filter: settled });
  }, [settled]);
  return [typed, setTyped, address];
}

const viewNames: [RunsView, string][] = [
  ["active", "current"],
  ["archived", "archived"],
  ["deleted", "deleted"],
];
const archivedCondition = `tags.\`${archivedTag}\` = 'true'`;

/** One after the other, so that a refusal is the last thing that happens. */
async function each(runs: readonly Run[], change: (run: string) => Promise<void>): Promise<void> {
  for (const run of runs) await change(run.id);
}

/** What is done with the runs that are ticked. */
function OfTicked({ runs, view, changed }: { runs: readonly Run[]; view: RunsView; changed: () => void }) {
  const { act, busy, shown } = useAction(changed);
  const button = (title: string, change: (run: string) => Promise<void>, question = "") => (
    <button type="button" class="quiet" disabled={busy} onClick={() => (!question || confirm(question)) && act(() => each(runs, change))}>
      {title}
    </button>
  );
  return (
    <>
      {view === "active" && button("archive", (run) => setArchived(run, true))}
      {view === "archived" && button("unarchive", (run) => setArchived(run, false))}
      {view === "deleted" ? button("restore", restoreRun) : button("delete", deleteRun, `Delete ${runs.length === 1 ? runs[0]!.name : `${runs.length} runs`}? They can be restored.`)}
      {shown}
    </>
  );
}

/** Columns that somebody has chosen: the address says which, else this browser knows; null: nobody has. */
function useColumns(place: Place, experiment: string): [readonly string[] | null, (ids: string[] | null) => void] {
  const address = place.query.get("columns") ?? "";
  const [kept, setKept] = useKept<string[] | null>(`columns.${experiment || "all"}`, null);
  const chosen = useMemo(() => (address ? wordsOf(address).filter((id) => /^[mbp]:./.test(id)).slice(0, columnsMost) : kept), [address, kept]);
  const choose = (ids: string[] | null) => {
    setKept(ids);
    replaceQuery({ columns: ofWords(ids ?? []) });
  };
  return [chosen, choose];
}

export function RunsPage({ place, me }: { place: Place; me: Me }) {
  const experiment = place.query.get("experiment") ?? "";
  const [typed, setTyped, settled] = useFilterText(place);
  const wanted = place.query.get("view") ?? "";
  const view: RunsView = wanted === "archived" || wanted === "deleted" ? wanted : "active";
  const words = filterOf(settled);
  const sent = view !== "archived" ? words : words ? `(${words}) AND ${archivedCondition}` : archivedCondition;
  const sortId = place.query.get("sort") ?? "";
  const sort = useMemo(() => (sortId ? { id: sortId.replace(/^-/, ""), descending: sortId.startsWith("-") } : null), [sortId]);
  const list = useRuns(experiment, sent, orderOf(sort), view);
  const rows = useMemo(() => (view === "active" ? list.rows.filter((run) => !archived(run)) : list.rows), [list.rows, view]);
  const experiments = useLoaded(loadExperiments, []);
  const [chosen, setChosen] = useColumns(place, experiment);
  const { act: exporting, busy: exportBusy, shown: exportShown } = useAction(() => {});
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState(false);
  const now = useNow(1000);
  const table = useRef<HTMLDivElement>(null);
  useSlash();

  const offered = useMemo(() => choices(rows), [rows]);
  const shown = useMemo(() => chosen ?? usual(rows, offered), [chosen, rows, offered]);
  const opened = experiments.value?.find((one) => one.id === experiment);
  const names = useMemo(() => new Map(experiments.value?.map((one) => [one.id, one.name])), [experiments.value]);
  const columns = useMemo(() => columnsOf(shown, now, experiment ? null : (id) => names.get(id) ?? id), [shown.join("\n"), now, experiment, names]);
  const onSort = (id: string) => {
    const firstDown = id.startsWith("m:") || id === "started";
    const next = sort?.id !== id ? (firstDown ? `-${id}` : id) : sort.descending === firstDown ? (firstDown ? id : `-${id}`) : "";
    replaceQuery({ sort: next });
  };
  const onTick = (run: Run, through: readonly Run[]) => {
    const next = new Set(ticked);
    const on = !next.has(run.id);
    for (const one of through) if (on) next.add(one.id);
    else next.delete(one.id);
    setTicked(next);
  };
  const compare = () => ticked.size > 0 && go(hashOf(["compare"], { runs: [...ticked].slice(0, comparedMax).join(",") }));
  const filterFault = list.error && sent && faultOf(sent, list.error.message);

  return (
    <main class="page runs" ref={table} onKeyDown={(event) => event.key === "c" && !(event.target as Element).matches("input, select") && compare()}>
      <h1 class="hidden">Runs</h1>
      <div class="bar">
        <select aria-label="Experiment" value={experiment} onChange={(event) => replaceQuery({ experiment: event.currentTarget.value, columns: "" })}>
          <option value="">All experiments</option>
          {experiments.value?.map((one) => (
            <option key={one.id} value={one.id}>
              {one.visibility === "private" && one.id !== "0" ? `${one.name} (private)` : one.name}
            </option>
          ))}
        </select>
        {opened && <VisibilitySwitch key={opened.id} what="experiments" id={opened.id} owner={opened.owner} visibility={opened.visibility} me={me} changed={experiments.again} />}
        <FilterBox value={typed} onInput={setTyped} error={list.error} sent={sent} />
        <select aria-label="Which runs" value={view} onChange={(event) => { setTicked(new Set()); replaceQuery({ view: event.currentTarget.value === "active" ? "" : event.currentTarget.value }); }}>
          {viewNames.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <Views page="#/runs?" />
        <button type="button" onClick={() => setDialog(true)}>
          Columns
        </button>
        <button type="button" disabled={exportBusy || rows.length === 0} title="all runs that fit, with the columns that are shown" onClick={() => exporting(async () => saveCsv("runs", tableOf((await everyRun(experiment, sent, orderOf(sort), view)).filter((run) => view !== "active" || !archived(run)), shown, (id) => names.get(id) ?? id)))}>
          CSV
        </button>
        <button type="button" class="primary" disabled={ticked.size === 0} onClick={compare} title="or press c">
          Compare{ticked.size ? ` ${ticked.size}` : ""}
        </button>
      </div>
      {exportShown}
      {!filterFault && <Failure error={list.error} again={list.again} />}
      <p class="count" aria-live="polite">
        {list.loading ? "loading…" : `${rows.length}${list.more ? "+" : ""} ${rows.length === 1 && !list.more ? "run" : "runs"}`}
        {ticked.size > 0 && (
          <>
            {" · "}
            {ticked.size} ticked{" "}
            <button type="button" class="quiet" onClick={() => setTicked(new Set())}>
              untick
            </button>
            {me.role !== "viewer" && <OfTicked runs={rows.filter((run) => ticked.has(run.id))} view={view} changed={() => { setTicked(new Set()); list.again(); }} />}
          </>
        )}
      </p>
      {rows.length === 0 && !list.more && !list.loading && !list.error ? (
        sent || experiment || view !== "active" ? (
          <Empty>No run fits.</Empty>
        ) : (
          <Empty>
            No runs yet. <code>linac submit JOB.yaml</code> puts one into the queue; any MLflow client can log one.
          </Empty>
        )
      ) : (
        <Rows label="Runs" rows={rows} search={[experiment, sent, sortId, view].join("\n")} idOf={(run) => run.id} columns={columns} narrow={(run) => <Narrow run={run} metric={shown.find((id) => id.startsWith("m:"))?.slice(2)} now={now} />} sort={sort} onSort={onSort} ticked={ticked} onTick={onTick} onOpen={(run) => go(hashOf(["runs", run.id]))} onEnd={list.loadMore} more={list.more} />
      )}
      {dialog && <ColumnsDialog offered={offered} shown={shown} onChange={setChosen} close={() => setDialog(false)} />}
    </main>
  );
}
