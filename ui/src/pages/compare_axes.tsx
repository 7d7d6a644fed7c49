// Runs by their parameters and metrics: as points over two of them, or as lines across several.

import { useMemo, useRef, useState } from "preact/hooks";
import { axesOf, differs, type Axis } from "../axes.ts";
import type { Run } from "../api/types.ts";
import { csv, fileName, save } from "../csv.ts";
import { Empty } from "../parts/basics.tsx";
import { useSize } from "../parts/hooks.ts";
import { hashOf, ofWords, replaceQuery, wordsOf, type Place } from "../router.ts";

/** What is looked at last: words, and seeds, in which nobody expects an order. */
const seldom = (axis: Axis) => (/seed$/.test(axis.id) ? 2 : axis.words ? 1 : 0);

const nearEnd = 0.03; // of an axis
const parallelMost = 8;
const parallelUsual = 5;

/** From the first colour of the palette to the second one. */
const shade = (at: number | null) => (at === null ? "var(--edge)" : `color-mix(in oklab, var(--line-1) ${Math.round(100 * at)}%, var(--line-0))`);

const nameOf = (run: Run, axes: readonly Axis[]) => `${run.name}: ${axes.map((axis) => `${axis.title} ${axis.text(run) || "–"}`).join(", ")}`;

function Choice({ label, value, axes, none, onChange }: { label: string; value: string; axes: readonly Axis[]; none?: string; onChange: (id: string) => void }) {
  const group = (title: string, front: string) => (
    <optgroup label={title}>
      {axes
        .filter((axis) => axis.id.startsWith(front))
        .map((axis) => (
          <option key={axis.id} value={axis.id}>
            {axis.title}
          </option>
        ))}
    </optgroup>
  );
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {group("Parameters", "p:")}
        {group("Metrics", "m:")}
      </select>
    </label>
  );
}

function Scale({ axis }: { axis: Axis | undefined }) {
  if (!axis) return null;
  const [first, last] = [axis.ticks[0], axis.ticks[axis.ticks.length - 1]];
  return (
    <span class="scale small">
      {axis.title}: {first?.text} <i aria-hidden="true" /> {last?.text}
    </span>
  );
}

function exportTable(title: string, runs: readonly Run[], axes: readonly Axis[]): void {
  const cell = (run: Run, axis: Axis) => (axis.id.startsWith("m:") ? run.metrics[axis.title]?.value : run.parameters[axis.title]);
  save(fileName(title, "csv"), new Blob([csv([["id", "name", ...axes.map((axis) => axis.title)], ...runs.map((run) => [run.id, run.name, ...axes.map((axis) => cell(run, axis))])])], { type: "text/csv" }));
}

interface Charted {
  runs: readonly Run[];
  place: Place;
  href?: (run: Run) => string; // where a run's mark leads
  noun?: string; // what they are
}

const hrefOf = (run: Run) => hashOf(["runs", run.id]);

const height = 440;
const edge = { left: 70, right: 26, top: 30, bottom: 52 };
const air = 8; // px around the points

export function Scatter({ runs, place, href = hrefOf, noun = "runs" }: Charted) {
  const { ref, width } = useSize<HTMLDivElement>();
  const axes = useMemo(() => axesOf(runs), [runs]);
  const chosen = (name: string, usual: Axis | undefined) => axes.find((axis) => axis.id === place.query.get(name)) ?? usual;
  const settings = axes.filter((axis) => axis.id.startsWith("p:")).sort((a, b) => seldom(a) - seldom(b));
  const x = chosen("x", settings[0] ?? axes[0]);
  const y = chosen("y", axes.find((axis) => axis.id.startsWith("m:") && differs(axis, runs)) ?? axes[1]);
  const color = chosen("color", undefined);
  if (!x || !y) return <Empty>The runs have no parameter or metric in which they differ.</Empty>;
  const [inner, tall] = [Math.max(width - edge.left - edge.right, 10), height - edge.top - edge.bottom];
  const points = runs.map((run) => ({ run, at: x.place(run), up: y.place(run) })).filter((point) => point.at !== null && point.up !== null);
  const left = (at: number) => edge.left + at * inner;
  const top = (up: number) => edge.top + (1 - up) * tall;
  return (
    <section class="card">
      <div class="controls">
        <Choice label="Across" value={x.id} axes={axes} onChange={(id) => replaceQuery({ x: id })} />
        <Choice label="Up" value={y.id} axes={axes} onChange={(id) => replaceQuery({ y: id })} />
        <Choice label="Colour" value={color?.id ?? ""} axes={axes} none="none" onChange={(id) => replaceQuery({ color: id })} />
        <Scale axis={color} />
        <button type="button" class="push" onClick={() => exportTable("scatter", runs, [x, y, ...(color ? [color] : [])])}>
          CSV
        </button>
      </div>
      <div ref={ref} class="drawn">
        {width > 50 && (
          <svg width={width} height={height} role="group" aria-label={`${y.title} over ${x.title}, ${points.length} ${noun}`}>
            {x.ticks.map((tick) => (
              <g key={tick.text} class="tick-line">
                <line x1={left(tick.at)} x2={left(tick.at)} y1={edge.top - air} y2={edge.top + tall + air} />
                <text x={left(tick.at)} y={edge.top + tall + air + 16} text-anchor="middle">{tick.text}</text>
              </g>
            ))}
            {y.ticks.map((tick) => (
              <g key={tick.text} class="tick-line">
                <line x1={edge.left - air} x2={edge.left + inner + air} y1={top(tick.at)} y2={top(tick.at)} />
                <text x={edge.left - air - 6} y={top(tick.at) + 4} text-anchor="end">{tick.text}</text>
              </g>
            ))}
            <text x={edge.left + inner / 2} y={height - 6} text-anchor="middle">{x.title}{x.log ? " (log)" : ""}</text>
            <text x={edge.left - air} y={13} text-anchor="start">{y.title}{y.log ? " (log)" : ""}</text>
            {points.map(({ run, at, up }) => (
              <a key={run.id} href={href(run)} aria-label={nameOf(run, [x, y, ...(color ? [color] : [])])}>
                <circle cx={left(at!)} cy={top(up!)} r={6} style={{ fill: color ? shade(color.place(run)) : "var(--line-0)" }}>
                  <title>{nameOf(run, [x, y, ...(color ? [color] : [])])}</title>
                </circle>
              </a>
            ))}
          </svg>
        )}
      </div>
      {points.length < runs.length && <p class="note">{runs.length - points.length} of the {noun} have no value for both.</p>}
    </section>
  );
}

type Brushes = Readonly<Record<string, readonly [number, number]>>;

const without = (brushes: Brushes, id: string): Brushes => Object.fromEntries(Object.entries(brushes).filter(([one]) => one !== id));

/** The quarter of an axis above or below the one that is marked; the first from the end that the arrow comes from. */
function quarter(brush: readonly [number, number] | undefined, up: number): [number, number] {
  const from = brush ? Math.min(Math.max(Math.floor(brush[0] * 4) + up, 0), 3) : up > 0 ? 0 : 3;
  return [from / 4, (from + 1) / 4];
}

/** Whether the run passes through what is marked on each axis. */
function passes(run: Run, axes: readonly Axis[], brushes: Brushes): boolean {
  return axes.every((axis) => {
    const brush = brushes[axis.id];
    const at = axis.place(run);
    return !brush || (at !== null && at >= brush[0] && at <= brush[1]);
  });
}

export function Parallel({ runs, place, href = hrefOf, noun = "runs" }: Charted) {
  const { ref, width } = useSize<HTMLDivElement>();
  const all = useMemo(() => axesOf(runs), [runs]);
  const [brushes, setBrushes] = useState<Brushes>({});
  const [lit, setLit] = useState("");
  const begun = useRef<{ id: string; from: number } | null>(null);
  const wanted = place.query.get("axes");
  const axes = useMemo(() => {
    const ids = wordsOf(wanted ?? "");
    if (ids.length > 0) return ids.map((id) => all.find((axis) => axis.id === id)).filter((axis) => axis !== undefined).slice(0, parallelMost);
    const metrics = all.filter((axis) => axis.id.startsWith("m:") && differs(axis, runs)).slice(0, 2);
    return [...all.filter((axis) => axis.id.startsWith("p:")).slice(0, parallelUsual - metrics.length), ...metrics];
  }, [all, wanted]);
  if (all.length < 2) return <Empty>The runs have no two parameters or metrics in which they differ.</Empty>;
  const choose = (ids: readonly string[]) => replaceQuery({ axes: ofWords(ids) });
  const color = axes[axes.length - 1];
  const tall = height - edge.top - edge.bottom - 10;
  const side = 64;
  const left = (i: number) => (axes.length < 2 ? width / 2 : side + (i * (width - 2 * side)) / (axes.length - 1));
  const top = (at: number) => edge.top + 24 + (1 - at) * tall;
  const line = (run: Run) => {
    let path = "";
    let pen = "M";
    axes.forEach((axis, i) => {
      const at = axis.place(run);
      if (at !== null) path += `${pen}${left(i).toFixed(1)} ${top(at).toFixed(1)}`;
      pen = at === null ? "M" : "L";
    });
    return path;
  };
  const heightAt = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = 1 - (event.clientY - box.top) / box.height;
    return at < nearEnd ? 0 : at > 1 - nearEnd ? 1 : at; // the ends are hard to meet
  };
  const through = runs.filter((run) => passes(run, axes, brushes));
  const inside = new Set(through.map((run) => run.id));
  return (
    <section class="card">
      <div class="controls">
        {axes.length < parallelMost && <Choice label="Add" value="" axes={all.filter((axis) => !axes.includes(axis))} none="an axis…" onChange={(id) => id && choose([...axes.slice(0, -1), ...all.filter((axis) => axis.id === id), ...axes.slice(-1)].map((axis) => axis.id))} />}
        {axes.map((axis) => (
          <span key={axis.id} class="chip">
            {axis.title}
            <button type="button" class="quiet" aria-label={`Remove axis ${axis.title}`} onClick={() => choose(axes.filter((one) => one !== axis).map((one) => one.id))}>
              ✕
            </button>
          </span>
        ))}
        <span class="small" aria-live="polite">
          {through.length} of {runs.length} {noun}
        </span>
        {Object.keys(brushes).length > 0 && (
          <button type="button" class="quiet" onClick={() => setBrushes({})}>
            Show all
          </button>
        )}
        <button type="button" class="push" onClick={() => exportTable("parallel", through, axes)}>
          CSV
        </button>
      </div>
      <div ref={ref} class="drawn">
        {width > 50 && axes.length > 0 && (
          <svg width={width} height={height} role="group" aria-label={`The ${noun} across ${axes.map((axis) => axis.title).join(", ")}`}>
            {[...runs].sort((a, b) => Number(inside.has(a.id)) - Number(inside.has(b.id))).map((run) => (
              <a key={run.id} href={href(run)} aria-label={nameOf(run, axes)} tabindex={inside.has(run.id) ? 0 : -1} onFocus={() => setLit(run.id)} onBlur={() => setLit("")} onPointerEnter={() => setLit(run.id)} onPointerLeave={() => setLit("")}>
                <path class={`way ${inside.has(run.id) ? "" : "out"} ${lit === run.id ? "lit" : ""}`} d={line(run)} style={{ stroke: inside.has(run.id) ? shade(color!.place(run)) : "var(--rule)" }}>
                  <title>{nameOf(run, axes)}</title>
                </path>
              </a>
            ))}
            {axes.map((axis, i) => {
              const brush = brushes[axis.id];
              const anchor = i === 0 ? "start" : i === axes.length - 1 ? "end" : "middle";
              return (
                <g key={axis.id} class="upright">
                  <text x={left(i) + (i === 0 ? -side + 4 : i === axes.length - 1 ? side - 4 : 0)} y={edge.top} text-anchor={anchor}>
                    {axis.title.length > 22 ? `…${axis.title.slice(-21)}` : axis.title}
                    <title>{axis.title}</title>
                  </text>
                  <line x1={left(i)} x2={left(i)} y1={top(1)} y2={top(0)} />
                  {axis.ticks.map((tick) => (
                    <text key={tick.text} class="mark" x={left(i) + 6} y={top(tick.at) + 4}>
                      {tick.text.length > 14 ? `${tick.text.slice(0, 13)}…` : tick.text}
                    </text>
                  ))}
                  {brush && <rect class="brush" x={left(i) - 7} width={14} y={top(brush[1])} height={Math.max(top(brush[0]) - top(brush[1]), 2)} />}
                  <rect
                    class="grip"
                    x={left(i) - 12}
                    width={24}
                    y={top(1)}
                    height={tall}
                    tabindex={0}
                    role="slider"
                    aria-orientation="vertical"
                    aria-label={`Runs that pass ${axis.title}`}
                    aria-valuemin={0}
                    aria-valuemax={100}
                    aria-valuenow={brush ? Math.round(50 * (brush[0] + brush[1])) : 50}
                    aria-valuetext={brush ? `from ${Math.round(100 * brush[0])} % to ${Math.round(100 * brush[1])} % of the axis` : "all"}
                    onKeyDown={(event) => {
                      const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
                      if (up) setBrushes({ ...brushes, [axis.id]: quarter(brush, up) });
                      else if (event.key === "Escape") setBrushes(without(brushes, axis.id));
                      else return;
                      event.preventDefault();
                    }}
                    onPointerDown={(event) => {
                      event.currentTarget.setPointerCapture(event.pointerId);
                      begun.current = { id: axis.id, from: heightAt(event) };
                    }}
                    onPointerMove={(event) => {
                      if (begun.current?.id !== axis.id) return;
                      const [from, to] = [begun.current.from, heightAt(event)];
                      setBrushes({ ...brushes, [axis.id]: [Math.min(from, to), Math.max(from, to)] });
                    }}
                    onPointerUp={(event) => {
                      if (begun.current && Math.abs(heightAt(event) - begun.current.from) < 0.01) setBrushes(without(brushes, axis.id));
                      begun.current = null;
                    }}
                  />
                </g>
              );
            })}
          </svg>
        )}
      </div>
      <p class="note">Drag along an axis to see the {noun} that pass there, or take the arrow keys; a click on it or Esc takes that back. The colour is the last axis's.</p>
    </section>
  );
}
