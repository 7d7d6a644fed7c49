// Lines in a frame (uPlot draws on a canvas). Dragging chooses a range of x, a double click all of it; frames with the same `sync`
// share their cursor.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Axis, DrawnLine } from "../curves/lines.ts";
import { number, time } from "../format.ts";
import { useSize } from "./hooks.ts";
import { colors } from "./palette.ts";

export interface PlotProps {
  lines: readonly DrawnLine[];
  log: boolean;
  axis: Axis;
  range: readonly [number, number] | null;
  onRange: (range: [number, number] | null) => void;
  sync: string;
  label: string;
  height: number;
}

interface Column {
  line: DrawnLine;
  part: "y" | "faint" | "low" | "high";
}

function columnsOf(lines: readonly DrawnLine[]): Column[] {
  const parts = (line: DrawnLine): Column["part"][] => [...(line.high && line.low ? (["high", "low"] as const) : []), ...(line.faint ? (["faint"] as const) : []), "y"];
  return lines.flatMap((line) => parts(line).map((part) => ({ line, part })));
}

function dataOf(lines: readonly DrawnLine[]): uPlot.AlignedData {
  const tables = lines.map((line) => [line.x, ...columnsOf([line]).map((column) => column.line[column.part]!)] as uPlot.AlignedData);
  if (tables.length === 0) return [[]];
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

function xText(x: number, axis: PlotProps["axis"]): string {
  if (axis === "time") return time(x * 1000);
  if (axis === "epoch") return `epoch ${number(x, 4)}`;
  return axis === "relative" ? `${number(x, 4)} s` : `step ${Math.round(x)}`;
}

/** Small triangles on the lower edge, one a pixel at most. */
function drawMarks(plot: uPlot, lines: readonly DrawnLine[]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  const palette = colors();
  ctx.save();
  for (const line of lines) {
    ctx.fillStyle = palette.lines[line.color % palette.lines.length]!;
    let before = -Infinity;
    for (const mark of line.marks) {
      const x = Math.round(plot.valToPos(mark, "x", true));
      if (x === before || x < bbox.left || x > bbox.left + bbox.width) continue;
      before = x;
      ctx.beginPath();
      ctx.moveTo(x, bottom - 7 * ratio);
      ctx.lineTo(x - 4 * ratio, bottom);
      ctx.lineTo(x + 4 * ratio, bottom);
      ctx.fill();
    }
  }
  ctx.restore();
}

export function Plot({ lines, log, axis, range, onRange, sync, label, height }: PlotProps) {
  const { ref, width } = useSize<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ lines, onRange });
  latest.current = { lines, onRange };
  const [hover, setHover] = useState<{ x: number; left: number; top: number; rows: { label: string; color: number; value: number; bad: boolean }[] } | null>(null);
  const [scheme, setScheme] = useState(0);
  const shape = columnsOf(lines).map(({ part, line }) => `${part}${line.color}${line.x.length <= dotsMax}`).join(",");
  const data = useMemo(() => dataOf(lines), [lines]);

  useEffect(() => {
    const changed = () => setScheme((before) => before + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("themechange", changed);
    system.addEventListener("change", changed);
    return () => {
      removeEventListener("themechange", changed);
      system.removeEventListener("change", changed);
    };
  }, []);

  useEffect(() => {
    const element = ref.current;
    if (!element || width < 50) return;
    const palette = colors();
    const columns = columnsOf(latest.current.lines);
    const series: uPlot.Series[] = columns.map(({ line, part }) => {
      const color = palette.lines[line.color % palette.lines.length]!;
      const edge = part === "low" || part === "high";
      return { stroke: edge ? "transparent" : part === "faint" ? color + "50" : color, width: edge ? 0 : part === "faint" ? 1 : 1.75, points: { show: part === "y" && line.x.length <= dotsMax, size: 5 } };
    });
    const bands: uPlot.Band[] = columns.flatMap(({ line, part }, i) =>
      part === "high" ? [{ series: [i + 1, i + 2] as [number, number], fill: palette.lines[line.color % palette.lines.length]! + "33" }] : [],
    );
    const grid = { stroke: palette.grid, width: 1 };
    const ticks = { ...grid, size: 4 };
    const options: uPlot.Options = {
      width,
      height,
      legend: { show: false },
      padding: [8, 12, 0, 0],
      scales: { x: { time: axis === "time", ...(range ? { range: [range[0], range[1]] } : {}) }, y: log ? { distr: 3 } : { range: flatRange } },
      cursor: { sync: { key: sync, setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
      axes: [
        { stroke: palette.text, grid, ticks, font: palette.font, size: 30, values: axis === "time" ? undefined : (_, values) => values.map((value) => number(value)) } as uPlot.Axis,
        { stroke: palette.text, grid, ticks, font: palette.font, size: 58, values: (_, values) => values.map((value) => (value === null ? "" : number(value, 4))) },
      ],
      series: [{}, ...series],
      bands,
      hooks: {
        draw: [(drawn) => drawMarks(drawn, latest.current.lines)],
        setSelect: [
          (drawn) => {
            if (drawn.select.width < 4) return;
            latest.current.onRange([drawn.posToVal(drawn.select.left, "x"), drawn.posToVal(drawn.select.left + drawn.select.width, "x")]);
            drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        setCursor: [
          (drawn) => {
            const { left = -1, top = -1 } = drawn.cursor;
            if (left < 0 || !drawn.root.matches(":hover")) return setHover(null);
            const x = drawn.posToVal(left, "x");
            setHover({ x, left, top, rows: rowsAt(latest.current.lines, x, drawn) });
          },
        ],
      },
    };
    const made = new uPlot(options, data, element);
    made.over.addEventListener("dblclick", () => latest.current.onRange(null));
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [shape, log, axis, range, sync, scheme, width > 50, height]);

  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    if (width > 50) plot.current?.setSize({ width, height });
  }, [width, height]);

  return (
    <div class="plot">
      <div ref={ref} role="img" aria-label={label} />
      {hover && hover.rows.length > 0 && (
        <div class={`tip ${hover.left > width / 2 ? "tip-left" : ""}`} style={{ left: `${hover.left + 58}px` }}>
          <div>{xText(hover.x, axis)}</div>
          {hover.rows.map((row) => (
            <div key={row.label} class="tip-row">
              <i class="swatch" data-color={row.color % 10} />
              <span>{row.label}</span>
              <b>{row.bad ? "not finite" : number(row.value)}</b>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Some air above and below, and a frame around a constant. */
const flatRange: uPlot.Scale.Range = (_, low, high) => {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (low === high) return low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const air = (high - low) * 0.05;
  return [low - air, high + air];
};

const rowsMax = 12;
const dotsMax = 30; // a line of so few points shows them

function rowsAt(lines: readonly DrawnLine[], x: number, plot: uPlot): { label: string; color: number; value: number; bad: boolean }[] {
  const { min = 0, max = 1 } = plot.scales["x"] as { min?: number; max?: number };
  const near = ((max - min) / Math.max(plot.over.clientWidth, 1)) * 12;
  const rows = [];
  for (const line of lines) {
    const at = nearest(line.x, x);
    if (at < 0 || (Math.abs(line.x[at]! - x) > near && (x < line.x[0]! || x > line.x[line.x.length - 1]!))) continue;
    const bad = line.marks.includes(line.x[at]!);
    const value = line.y[at];
    if (value === null && !bad) continue;
    rows.push({ label: line.label, color: line.color, value: value ?? NaN, bad: value === null });
    if (rows.length === rowsMax) break;
  }
  return rows;
}

function nearest(sorted: readonly number[], x: number): number {
  let low = 0;
  let high = sorted.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= x) low = middle;
    else high = middle;
  }
  return Math.abs(sorted[low]! - x) <= Math.abs(sorted[high]! - x) ? low : high;
}
