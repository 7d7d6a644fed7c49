// One metric of several runs: loads the curves when the chart comes into view, and lets them grow while the runs go on.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { curves as loadCurves } from "../api/tracking.ts";
import type { Point, Run, Stretch } from "../api/types.ts";
import { number } from "../format.ts";
import { metricFronts } from "../generated/run_record.ts";
import { Failure } from "../parts/basics.tsx";
import { Plot } from "../parts/plot.tsx";
import { saveLines, savePicture } from "./export.ts";
import { extended } from "./curve.ts";
import type { LiveFeed } from "./feed.ts";
import { lines, type Drawing } from "./lines.ts";

const stretchesWanted = 600;
const stretchesMost = 1200; // a live curve is thinned again beyond
const redrawMs = 250;

export interface ChartProps {
  metric: string;
  runs: readonly Run[];
  colorOf: (run: string) => number;
  drawing: Drawing;
  feed: LiveFeed | null;
  range: readonly [number, number] | null;
  onRange: (range: [number, number] | null) => void;
  large: boolean;
  onLarge: () => void;
}

/** Whether the element has ever been near the window. */
function useSeen(): { ref: { current: HTMLElement | null }; seen: boolean } {
  const ref = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true), { rootMargin: "300px" });
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, seen };
}

/** Curves by run; points that come while a curve is on its way are put on top of it. */
function useCurves(props: ChartProps, seen: boolean) {
  const { metric, runs, feed, range, drawing } = props;
  const [curves, setCurves] = useState<ReadonlyMap<string, readonly Stretch[]>>(new Map());
  const [error, setError] = useState<Error>();
  const [loading, setLoading] = useState(true);
  const steps = drawing.axis === "step" ? range : null;
  const ids = runs.map((run) => run.id).join(",");

  useEffect(() => {
    if (!seen) return;
    const abort = new AbortController();
    const waiting = new Map<string, Point[]>();
    const held = new Map<string, readonly Stretch[]>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const redraw = () => {
      if (abort.signal.aborted) return; // a curve may arrive when another one is wanted
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const [run, points] of waiting) {
          const there = held.get(run);
          if (!there) continue;
          held.set(run, extended(there, steps ? points.filter((point) => point.step >= steps[0] && point.step <= steps[1]) : points, stretchesMost));
          waiting.delete(run);
        }
        setCurves(new Map(held));
      }, redrawMs);
    };
    const load = async (wanted: readonly string[]) => {
      const query = { runs: wanted, key: metric, stretches: stretchesWanted };
      const found = await loadCurves(steps ? { ...query, from: Math.floor(steps[0]), to: Math.ceil(steps[1]) } : query, abort.signal);
      for (const [run, stretches] of found) held.set(run, stretches);
    };
    const failed = (caught: Error) => abort.signal.aborted || setError(caught);
    setLoading(true);
    load(ids.split(","))
      .then(() => {
        if (abort.signal.aborted) return;
        setError(undefined);
        setLoading(false);
        setCurves(new Map(held));
      })
      .catch(failed);
    const silent = feed?.listen(metric, {
      points: (run, points) => {
        waiting.set(run, [...(waiting.get(run) ?? []), ...points]);
        redraw();
      },
      reset: (run) => void (held.has(run) && load([run]).then(redraw, failed)),
    });
    return () => {
      abort.abort();
      silent?.();
      clearTimeout(timer);
    };
  }, [seen, metric, ids, feed, steps?.[0], steps?.[1]]);
  return { curves, error, loading };
}

export function Chart(props: ChartProps) {
  const { metric, runs, colorOf, onRange, large, onLarge } = props;
  // What the service measures has seconds for steps, which no epoch tells.
  const apart = props.drawing.axis === "epoch" && metric.startsWith(metricFronts.system);
  const drawing = useMemo((): Drawing => (apart ? { ...props.drawing, axis: "relative" } : props.drawing), [apart, props.drawing]);
  const range = apart ? null : props.range;
  const { ref, seen } = useSeen();
  const { curves, error, loading } = useCurves({ ...props, drawing, range }, seen);
  const drawn = useMemo(
    () => lines(runs.filter((run) => curves.get(run.id)?.length).map((run) => ({ run, color: colorOf(run.id), stretches: curves.get(run.id)! })), drawing),
    [curves, runs, drawing],
  );
  const axis = drawing.groups && drawing.axis === "time" ? "relative" : drawing.axis;
  const log = drawing.log && drawn.some((line) => line.y.some((y) => y !== null));
  const notFinite = [...curves.values()].reduce((sum, stretches) => sum + stretches.reduce((n, stretch) => n + stretch.notFinite, 0), 0);
  const lasts = runs.map((run) => `${run.name}: ${number(curves.get(run.id)?.at(-1)?.value ?? run.metrics[metric]?.value ?? NaN)}`);
  return (
    <section class={`card chart ${large ? "large" : ""}`} ref={ref} aria-label={metric}>
      <header>
        <h2 title={metric}>{metric}</h2>
        {notFinite > 0 && (
          <span class="warn" title="values that are NaN or infinite; triangles below the curve say where">
            ▲ {number(notFinite)} not finite
          </span>
        )}
        {runs.length === 1 && <b class="last">{lasts[0]!.slice(runs[0]!.name.length + 2)}</b>}
        {drawn.length > 0 && (
          <>
            <button type="button" class="quiet save" aria-label={`Save ${metric} as CSV`} title="what is drawn, as a table" onClick={() => saveLines(metric, drawn, axis)}>
              csv
            </button>
            <button type="button" class="quiet save" aria-label={`Save ${metric} as PNG`} title="what is drawn, as a picture" onClick={() => savePicture(metric, drawn, ref.current!.querySelector("canvas")!)}>
              png
            </button>
          </>
        )}
        <button type="button" class="quiet" aria-pressed={large} aria-label={large ? "Smaller" : "Larger"} onClick={onLarge}>
          {large ? "⤡" : "⤢"}
        </button>
      </header>
      <Failure error={error} />
      <Plot lines={drawn} log={log} axis={axis} range={range} onRange={apart ? () => undefined : onRange} sync={`curves ${axis}`} height={large ? 420 : 230} label={`${metric}; ${lasts.slice(0, 8).join("; ")}`} />
      {drawing.log && !log && drawn.length > 0 && <p class="note">Nothing positive to show on a logarithmic axis.</p>}
      {loading && seen && drawn.length === 0 && !error && <p class="note">loading…</p>}
    </section>
  );
}
