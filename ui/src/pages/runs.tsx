// The runs table: search, sort, tick, compare.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { experiments as loadExperiments } from "../api/tracking.ts";
import type { Run } from "../api/types.ts";
import { faultOf, filterOf } from "../filter.ts";
import { duration, number } from "../format.ts";
import { Dialog, Empty, Failure, StateMark, When } from "../parts/basics.tsx";
import { useKept, useLoaded, useNow, useSettled } from "../parts/hooks.ts";
import { Rows } from "../parts/rows.tsx";
import { go, hashOf, replaceQuery, type Place } from "../router.ts";
import { choices, columnsOf, orderOf, took, usual, type Choices } from "./columns.tsx";
import { useRuns } from "./runs_list.ts";

export const comparedMax = 50;

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
        {list("Metrics", "m:", offered.metrics)}
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

export function RunsPage({ place }: { place: Place }) {
  const experiment = place.query.get("experiment") ?? "";
  const [typed, setTyped, settled] = useFilterText(place);
  const sent = filterOf(settled);
  const sortId = place.query.get("sort") ?? "";
  const sort = useMemo(() => (sortId ? { id: sortId.replace(/^-/, ""), descending: sortId.startsWith("-") } : null), [sortId]);
  const list = useRuns(experiment, sent, orderOf(sort));
  const experiments = useLoaded(loadExperiments, []);
  const [chosen, setChosen] = useKept<string[] | null>(`columns.${experiment || "all"}`, null);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState(false);
  const now = useNow(1000);
  const table = useRef<HTMLDivElement>(null);
  useSlash();

  const offered = useMemo(() => choices(list.rows), [list.rows]);
  const shown = useMemo(() => chosen ?? usual(list.rows, offered), [chosen, list.rows, offered]);
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
        <select aria-label="Experiment" value={experiment} onChange={(event) => replaceQuery({ experiment: event.currentTarget.value })}>
          <option value="">All experiments</option>
          {experiments.value?.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
        <FilterBox value={typed} onInput={setTyped} error={list.error} sent={sent} />
        <button type="button" onClick={() => setDialog(true)}>
          Columns
        </button>
        <button type="button" class="primary" disabled={ticked.size === 0} onClick={compare} title="or press c">
          Compare{ticked.size ? ` ${ticked.size}` : ""}
        </button>
      </div>
      {!filterFault && <Failure error={list.error} again={list.again} />}
      <p class="count" aria-live="polite">
        {list.loading ? "loading…" : `${list.rows.length}${list.more ? "+" : ""} ${list.rows.length === 1 && !list.more ? "run" : "runs"}`}
        {ticked.size > 0 && (
          <>
            {" · "}
            {ticked.size} ticked{" "}
            <button type="button" class="quiet" onClick={() => setTicked(new Set())}>
              untick
            </button>
          </>
        )}
      </p>
      {list.rows.length === 0 && !list.loading && !list.error ? (
        sent || experiment ? (
          <Empty>No run fits.</Empty>
        ) : (
          <Empty>
            No runs yet. <code>linac submit JOB.yaml</code> puts one into the queue; any MLflow client can log one.
          </Empty>
        )
      ) : (
        <Rows label="Runs" rows={list.rows} search={[experiment, sent, sortId].join("\n")} idOf={(run) => run.id} columns={columns} narrow={(run) => <Narrow run={run} metric={shown.find((id) => id.startsWith("m:"))?.slice(2)} now={now} />} sort={sort} onSort={onSort} ticked={ticked} onTick={onTick} onOpen={(run) => go(hashOf(["runs", run.id]))} onEnd={list.loadMore} more={list.more} />
      )}
      {dialog && <ColumnsDialog offered={offered} shown={shown} onChange={setChosen} close={() => setDialog(false)} />}
    </main>
  );
}
