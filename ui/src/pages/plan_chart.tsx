// Time against money: a point a place, the front as a line, deadline and budget as lines that can be moved.

import { useRef, useState } from "preact/hooks";
import type { Plan, PlanRow } from "../api/plans.ts";
import { axisAround, digits, moneyOf, placeOn, ticksOf, unitOf, valueAt } from "../plan.ts";
import { useSize } from "../parts/hooks.ts";

const height = 340;
const edge = { left: 58, right: 14, top: 12, bottom: 40 };
const barsMax = 40; // rows of which the intervals are drawn
const keyStep = 1.1;
const keySeconds = 1; // of a deadline at least: it is told in whole ones

interface ChartProps {
  plan: Plan;
  deadline: number; // seconds; 0: none
  budget: number; // in the plan's currency; 0: none
  onDeadline: (seconds: number) => void;
  onBudget: (money: number) => void;
  chosen: string;
  choose: (name: string) => void;
}

interface Line {
  name: string;
  at: number; // pixels along its axis
  text: string;
  value: number;
  move: (value: number) => void;
}

export function PlanChart({ plan, deadline, budget, onDeadline, onBudget, chosen, choose }: ChartProps) {
  const { ref, width } = useSize<HTMLDivElement>();
  const picture = useRef<SVGSVGElement>(null);
  const [dragged, setDragged] = useState<"deadline" | "budget">();
  const priced = plan.rows.some((row) => row.usd);
  const worth = (row: PlanRow) => (priced ? moneyOf(row, plan) : row.kwh);
  const rows = plan.rows.filter((row) => worth(row));
  if (rows.length === 0) return <p class="note">No place has a price or a power that is known, so there is nothing to draw time against.</p>;
  const few = rows.length <= barsMax;
  const ends = (one: { low: number; middle: number; high: number }) => (few ? [one.low, one.high] : [one.middle]);
  const right = Math.max(width - edge.right, edge.left + 40);
  const x = axisAround([...rows.flatMap((row) => ends(row.seconds)), deadline], edge.left, right);
  const y = axisAround([...rows.flatMap((row) => ends(worth(row)!)), priced ? budget : 0], height - edge.bottom, edge.top);
  const unit = unitOf(Math.max(...rows.map((row) => row.seconds.middle)));
  const inUnit = { ...x, low: x.low / unit[0], high: x.high / unit[0] };
  const px = (seconds: number) => placeOn(x, seconds);
  const py = (value: number) => placeOn(y, value);
  const front = rows.filter((row) => row.front).sort((a, b) => a.seconds.middle - b.seconds.middle);
  const path = front.map((row) => `${px(row.seconds.middle)},${py(worth(row)!.middle)}`).join(" ");
  const drag = (event: PointerEvent) => {
    const box = picture.current?.getBoundingClientRect();
    if (!dragged || !box) return;
    if (dragged === "deadline") onDeadline(valueAt(x, event.clientX - box.left));
    else onBudget(valueAt(y, event.clientY - box.top));
  };
  // Without a wish the line waits at the axis' end, where it excludes nothing.
  const wishes: Record<"deadline" | "budget", Line> = {
    deadline: { name: "Deadline", at: px(deadline || x.high), value: deadline || x.high, text: deadline ? `deadline ${digits(deadline / unit[0])} ${unit[1]}` : "deadline", move: onDeadline },
    budget: { name: "Budget", at: py(budget || y.high), value: budget || y.high, text: budget ? `budget ${digits(budget)} ${plan.currency}` : "budget", move: onBudget },
  };
  const handle = (which: "deadline" | "budget") => {
    const { name, at, text, value, move } = wishes[which];
    const upright = which === "deadline";
    const wished = upright ? deadline > 0 : budget > 0;
    return (
      <g
        class={`wish ${wished ? "" : "unset"}`}
        role="slider"
        tabindex={0}
        aria-label={name}
        aria-valuenow={value}
        aria-valuetext={wished ? text : "none"}
        onPointerDown={(event) => {
          event.preventDefault();
          picture.current?.setPointerCapture(event.pointerId);
          setDragged(which);
        }}
        onKeyDown={(event) => {
          const more = ["ArrowRight", "ArrowUp"].includes(event.key);
          if (!more && !["ArrowLeft", "ArrowDown"].includes(event.key)) return;
          event.preventDefault();
          const least = upright ? keySeconds : 0;
          move(more ? Math.max(value * keyStep, value + least) : Math.min(value / keyStep, value - least));
        }}
      >
        <line class="reach" x1={upright ? at : edge.left} x2={upright ? at : right} y1={upright ? edge.top : at} y2={upright ? height - edge.bottom : at} />
        <line class="rule" x1={upright ? at : edge.left} x2={upright ? at : right} y1={upright ? edge.top : at} y2={upright ? height - edge.bottom : at} />
        {upright ? (
          <text x={at > (edge.left + right) / 2 ? at - 5 : at + 5} y={height - edge.bottom - 6} text-anchor={at > (edge.left + right) / 2 ? "end" : "start"}>
            {text}
          </text>
        ) : (
          <text x={edge.left + 5} y={at < edge.top + 16 ? at + 13 : at - 5}>
            {text}
          </text>
        )}
      </g>
    );
  };
  return (
    <div class="planchart" ref={ref}>
      {width > 0 && (
        <svg ref={picture} width={width} height={height} role="group" aria-label={priced ? "Time and money" : "Time and energy"} onPointerMove={drag} onPointerUp={() => setDragged(undefined)} onPointerCancel={() => setDragged(undefined)}>
          {ticksOf(inUnit, Math.max(3, Math.floor(width / 90))).map((tick) => (
            <g class="tick" key={tick}>
              <line x1={px(tick * unit[0])} x2={px(tick * unit[0])} y1={edge.top} y2={height - edge.bottom} />
              <text x={px(tick * unit[0])} y={height - edge.bottom + 15} text-anchor="middle">
                {digits(tick)}
              </text>
            </g>
          ))}
          {ticksOf(y).map((tick) => (
            <g class="tick" key={tick}>
              <line x1={edge.left} x2={right} y1={py(tick)} y2={py(tick)} />
              <text x={edge.left - 6} y={py(tick) + 4} text-anchor="end">
                {digits(tick)}
              </text>
            </g>
          ))}
          <text class="axis" x={right} y={height - 6} text-anchor="end">
            time, {unit[1]}
          </text>
          <text class="axis" x={2} y={height - 6}>
            {priced ? `money, ${plan.currency} ↑` : "energy, kWh ↑"}
          </text>
          <polyline class="front" points={path} />
          {handle("deadline")}
          {priced && handle("budget")}
          {rows.map((row) => {
            const value = worth(row)!;
            const at = [px(row.seconds.middle), py(value.middle)] as const;
            return (
              <g key={row.name} class={`place ${row.good ? "" : "off"} ${row.name === chosen ? "chosen" : ""}`} onClick={() => choose(row.name)}>
                <title>{row.name}</title>
                {few && <line x1={px(row.seconds.low)} x2={px(row.seconds.high)} y1={at[1]} y2={at[1]} />}
                {few && <line x1={at[0]} x2={at[0]} y1={py(value.low)} y2={py(value.high)} />}
                <circle cx={at[0]} cy={at[1]} r={row.front ? 5.5 : 3.5} />
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
