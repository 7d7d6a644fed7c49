// The curves of one or several runs: a chart for each metric, with common controls.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Run } from "../api/types.ts";
import { Empty } from "../parts/basics.tsx";
import { useKept } from "../parts/hooks.ts";
import { lineColors } from "../parts/palette.ts";
import { byInterest } from "../metric_order.ts";
import { hashOf } from "../router.ts";
import { Chart } from "./chart.tsx";
import { LiveFeed } from "./feed.ts";
import { grouped } from "./groups.ts";
import type { Axis, Drawing } from "./lines.ts";
import { weightOfSlider } from "./smoothing.ts";

interface Settings {
  slider: number;
  log: boolean;
  axis: Axis;
  groups: boolean;
  envelope: boolean;
}

const initial: Settings = { slider: 0, log: false, axis: "step", groups: true, envelope: true };
const firstCharts = 24; // the others on demand

const ungrouped = (runs: readonly Run[]): ReturnType<typeof grouped<Run>> => ({ groups: [], single: [...runs] });

function Controls({ settings, set, groups, find, setFind, many }: { settings: Settings; set: (settings: Settings) => void; groups: boolean; find: string; setFind: (find: string) => void; many: boolean }) {
  return (
    <div class="controls" role="group" aria-label="How curves are drawn">
      <label>
        Smoothing
        <input type="range" min="0" max="100" value={settings.slider} onInput={(event) => set({ ...settings, slider: Number(event.currentTarget.value) })} />
        <output>{weightOfSlider(settings.slider).toFixed(3)}</output>
      </label>
      <label>
        Over
        <select value={settings.axis} onChange={(event) => set({ ...settings, axis: event.currentTarget.value as Axis })}>
          <option value="step">step</option>
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
      {many && <input type="search" class="find" placeholder="metrics" aria-label="Find metrics" value={find} onInput={(event) => setFind(event.currentTarget.value)} />}
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

export function CurvesView({ runs, changed }: { runs: readonly Run[]; changed: (run: string) => void }) {
  const [kept, setKept] = useKept<Settings>("curves", initial);
  const settings = { ...initial, ...kept };
  const [find, setFind] = useState("");
  const [all, setAll] = useState(false);
  const [range, setRange] = useState<[number, number] | null>(null);
  const [large, setLarge] = useState("");
  const [feed, setFeed] = useState<LiveFeed | null>(null);

  const ids = runs.map((run) => `${run.id}${run.state}`).join(",");
  useEffect(() => {
    const made = new LiveFeed(runs, changed);
    setFeed(made);
    return () => made.stop();
  }, [ids]);
  useEffect(() => setRange(null), [settings.axis]);

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
  const drawing: Drawing = useMemo(
    () => ({ axis: settings.axis, smoothing: weightOfSlider(settings.slider), log: settings.log, groups: bands ? new Map(found.groups.flatMap((group) => group.members.map((run) => [run.id, group.name] as const))) : null, envelope: settings.envelope }),
    [settings.axis, settings.slider, settings.log, settings.envelope, found, bands],
  );
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort(byInterest);
  const wanted = keys.filter((key) => key.toLowerCase().includes(find.toLowerCase()));
  const shown = all ? wanted : wanted.slice(0, firstCharts);
  if (keys.length === 0) return <Empty>No metrics yet. They appear here as they come.</Empty>;
  return (
    <div class="curves">
      <Controls settings={settings} set={setKept} groups={found.groups.length > 0} find={find} setFind={setFind} many={keys.length > 6} />
      {runs.length > 1 && <Legend parts={parts} colorOf={colorOf} />}
      {range && (
        <p class="note">
          A part of the axis is shown.{" "}
          <button type="button" class="quiet" onClick={() => setRange(null)}>
            Show all
          </button>
        </p>
      )}
      <div class="charts">
        {shown.map((key) => (
          <Chart key={key} metric={key} runs={runs.filter((run) => key in run.metrics)} colorOf={colorOf} drawing={drawing} feed={feed} range={range} onRange={setRange} large={large === key} onLarge={() => setLarge(large === key ? "" : key)} />
        ))}
      </div>
      {shown.length < wanted.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {wanted.length} metrics
        </button>
      )}
    </div>
  );
}
