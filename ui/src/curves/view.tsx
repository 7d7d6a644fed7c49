// The curves of one or several runs: a chart for each metric, with common controls.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { curves as loadCurves } from "../api/tracking.ts";
import type { Run } from "../api/types.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { Lost } from "../parts/lost.tsx";
import { useKept } from "../parts/hooks.ts";
import { lineColors } from "../parts/palette.ts";
import { byInterest } from "../metric_order.ts";
import { metricFronts, metricNames } from "../generated/run_record.ts";
import { hashOf, replaceQuery, usePlace } from "../router.ts";
import { Chart } from "./chart.tsx";
import { epochEnds, type EpochEnd } from "./epochs.ts";
import { LiveFeed } from "./feed.ts";
import { grouped } from "./groups.ts";
import type { Axis, Drawing } from "./lines.ts";
import { byPrefix, habits, initial, queryOf, settingsOf, type MetricGroup, type Settings } from "./settings.ts";
import { weightOfSlider } from "./smoothing.ts";

const firstCharts = 24; // the others on demand
const stretchesWanted = 600; // of the epochs, as of any curve

const ungrouped = (runs: readonly Run[]): ReturnType<typeof grouped<Run>> => ({ groups: [], single: [...runs] });

function Controls({ settings, set, groups, many }: { settings: Settings; set: (settings: Settings) => void; groups: boolean; many: boolean }) {
  return (
    <div class="controls" role="group" aria-label="How curves are drawn">
      <label>
        Smoothing
        <input type="range" min="0" max="100" value={settings.slider} onInput={(event) => set({ ...settings, slider: Number(event.currentTarget.value) })} />
        <output>{weightOfSlider(settings.slider).toFixed(3)}</output>
      </label>
      <label>
        Over
        <select value={settings.axis} onChange={(event) => set({ ...settings, axis: event.currentTarget.value as Axis, range: null })}>
          <option value="step">step</option>
          <option value="epoch">epoch</option>
          <option value="relative">time since start</option>
          <option value="time">time of day</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={settings.log} onChange={(event) => set({ ...settings, log: event.currentTarget.checked })} />
        log scale
      </label>
      <label title="the smallest and largest value of each stretch">
        <input type="checkbox" checked={settings.envelope} onChange={(event) => set({ ...settings, envelope: event.currentTarget.checked })} />
        min–max
      </label>
      {groups && (
        <label title="runs with the same tag linac.group, or with names that differ by their seed, whose parameters are the same but for the seed">
          <input type="checkbox" checked={settings.groups} onChange={(event) => set({ ...settings, groups: event.currentTarget.checked })} />
          seeds as bands
        </label>
      )}
      {many && <input type="search" class="find" placeholder="metrics" aria-label="Find metrics" value={settings.find} onInput={(event) => set({ ...settings, find: event.currentTarget.value })} />}
    </div>
  );
}

function Legend({ parts: { groups, single }, colorOf }: { parts: ReturnType<typeof grouped<Run>>; colorOf: (run: string) => number }) {
  return (
    <ul class="legend">
      {groups.map((group) => (
        <li key={group.name}>
          <i class="swatch" data-color={colorOf(group.members[0]!.id)} /> {group.name} <small>{group.members.length} runs</small>
        </li>
      ))}
      {single.map((run) => (
        <li key={run.id}>
          <i class="swatch" data-color={colorOf(run.id)} /> <a href={hashOf(["runs", run.id])}>{run.name}</a>
        </li>
      ))}
    </ul>
  );
}

const accounts = [metricFronts.parts, metricFronts.time, metricFronts.system].map((front) => front.slice(0, -1));
const addressMs = 300; // browsers take few changes of the address a second

/** What is chosen: the address says it, else what this browser has got used to. */
function useSettings(): [Settings, (next: Settings) => void] {
  const { query } = usePlace();
  const [kept, setKept] = useKept<Partial<Settings>>("curves", {});
  const [settings, setSettings] = useState(() => settingsOf(query, { ...initial, ...habits({ ...initial, ...kept }) }));
  const told = useRef(query.toString());
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => {
    if (query.toString() === told.current) return;
    told.current = query.toString();
    setSettings(settingsOf(query, settings));
  }, [query.toString()]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (next: Settings) => {
    setSettings(next);
    setKept(habits(next));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      told.current = replaceQuery(queryOf(next));
    }, addressMs);
  };
  return [settings, set];
}

const noEpochs: ReadonlyMap<string, readonly EpochEnd[]> = new Map();

/** Where the epochs of the runs end, once they are the axis. */
function useEpochs(runs: readonly Run[], feed: LiveFeed | null, wanted: boolean) {
  const [found, setFound] = useState(noEpochs);
  const [error, setError] = useState<Error>();
  const ids = runs.map((run) => run.id).join(",");
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    const put = (run: string, ends: (before: readonly EpochEnd[]) => readonly EpochEnd[]) =>
      abort.signal.aborted || setFound((all) => new Map(all).set(run, ends(all.get(run) ?? [])));
    const load = (those: string[]) =>
      loadCurves({ runs: those, key: metricNames.epochs, stretches: stretchesWanted }, abort.signal)
        .then((all) => {
          for (const run of those) put(run, () => epochEnds([], all.get(run) ?? []));
          setError(undefined);
        })
        .catch((caught: Error) => void (abort.signal.aborted || setError(caught)));
    void load(ids.split(","));
    const silent = feed?.listen(metricNames.epochs, { points: (run, points) => put(run, (before) => epochEnds(before, points)), reset: (run) => void load([run]) });
    return () => {
      abort.abort();
      silent?.();
    };
  }, [ids, feed, wanted]);
  return { epochs: wanted ? found : noEpochs, error };
}

/** Metrics with the same front, which can be folded away. */
function Section({ group, open, setOpen, children }: { group: MetricGroup; open: boolean; setOpen: (open: boolean) => void; children: ComponentChildren }) {
  return (
    <section class="metric-group" aria-label={group.title}>
      <h2>
        <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> {group.title} <small>{group.keys.length}</small>
        </button>
      </h2>
      {open && children}
    </section>
  );
}

export function CurvesView({ runs, changed }: { runs: readonly Run[]; changed: (run: string) => void }) {
  const [settings, set] = useSettings();
  const { find, range, large } = settings;
  const [closed, setClosed] = useKept<string[]>("curves.closed", accounts);
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const [feed, setFeed] = useState<LiveFeed | null>(null);

  const ids = runs.map((run) => `${run.id}${run.state}`).join(",");
  useEffect(() => {
    const made = new LiveFeed(runs, changed);
    setFeed(made);
    return () => made.stop();
  }, [ids]);

  const found = useMemo(() => grouped(runs), [runs]);
  const bands = settings.groups && found.groups.length > 0;
  const parts = bands ? found : ungrouped(runs);
  const colorOf = useMemo(() => {
    const places = new Map<string, number>();
    const { groups, single } = parts;
    for (const group of groups) for (const run of group.members) places.set(run.id, groups.indexOf(group) % lineColors);
    single.forEach((run, i) => places.set(run.id, (groups.length + i) % lineColors));
    return (run: string) => places.get(run) ?? 0;
  }, [found, bands]);
  const overEpochs = settings.axis === "epoch";
  const { epochs, error } = useEpochs(runs, feed, overEpochs);
  const drawing: Drawing = useMemo(
    () => ({ epochs, axis: settings.axis, smoothing: weightOfSlider(settings.slider), log: settings.log, groups: bands ? new Map(found.groups.flatMap((group) => group.members.map((run) => [run.id, group.name] as const))) : null, envelope: settings.envelope }),
    [settings.axis, settings.slider, settings.log, settings.envelope, found, bands, epochs],
  );
  const without = overEpochs ? runs.filter((run) => !(metricNames.epochs in run.metrics)) : [];
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort(byInterest);
  const groups = byPrefix(keys.filter((key) => key.toLowerCase().includes(find.toLowerCase())));
  const setRange = (next: readonly [number, number] | null) => set({ ...settings, range: next });
  const charts = ({ prefix, keys: all }: MetricGroup) => {
    const shown = whole.has(prefix) ? all : all.slice(0, firstCharts);
    return (
      <>
        <div class="charts">
          {shown.map((key) => (
            <Chart key={key} metric={key} runs={runs.filter((run) => key in run.metrics)} colorOf={colorOf} drawing={drawing} feed={feed} range={range} onRange={setRange} large={large === key} onLarge={() => set({ ...settings, large: large === key ? "" : key })} />
          ))}
        </div>
        {shown.length < all.length && (
          <button type="button" onClick={() => setWhole(new Set([...whole, prefix]))}>
            Show all {all.length} metrics
          </button>
        )}
      </>
    );
  };
  const isOpen = (prefix: string) => find !== "" || groups.length === 1 || !closed.includes(prefix);
  const setOpen = (prefix: string, open: boolean) => setClosed(open ? closed.filter((one) => one !== prefix) : [...closed, prefix]);
  if (keys.length === 0) return <Empty>No metrics yet. They appear here as they come.</Empty>;
  return (
    <div class="curves">
      <Controls settings={settings} set={set} groups={found.groups.length > 0} many={keys.length > 6} />
      {runs.length > 1 && <Legend parts={parts} colorOf={colorOf} />}
      <Failure error={error} />
      <Lost runs={runs} />
      {without.length > 0 && <p class="note">Not known is where epochs end of {without.map((run) => run.name).join(", ")}.</p>}
      {range && (
        <p class="note">
          A part of the axis is shown.{" "}
          <button type="button" class="quiet" onClick={() => setRange(null)}>
            Show all
          </button>
        </p>
      )}
      {groups.length === 1 ? (
        charts(groups[0]!)
      ) : (
        groups.map((group) => (
          <Section key={group.prefix} group={group} open={isOpen(group.prefix)} setOpen={(open) => setOpen(group.prefix, open)}>
            {charts(group)}
          </Section>
        ))
      )}
      {groups.length === 0 && <Empty>No metric fits.</Empty>}
    </div>
  );
}
