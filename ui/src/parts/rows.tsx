// A grid of which only the rows in view exist: thousands scroll smoothly. Arrow keys move, Enter opens, Space ticks.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  id: string;
  title: string;
  hint?: string;
  width: string; // of a grid's column
  numeric?: boolean;
  sortable?: boolean;
  fixed?: boolean; // stays at the left edge; the first one
  cell: (row: T) => ComponentChildren;
}

export interface RowsProps<T> {
  label: string;
  rows: readonly T[];
  search: string; // what they were looked for by: another one begins at the top
  idOf: (row: T) => string;
  columns: readonly Column<T>[];
  narrow: (row: T) => ComponentChildren; // a row on a small screen
  sort: { id: string; descending: boolean } | null;
  onSort: (id: string) => void;
  ticked: ReadonlySet<string>;
  onTick: (row: T, through: readonly T[]) => void; // `through`: with Shift, all from the last one ticked
  onOpen: (row: T) => void;
  onEnd: () => void; // the last rows have come into view
  more: boolean;
}

const rowPx = 34;
const narrowRowPx = 58;
const spare = 8; // rows kept above and below

function useNarrow(): boolean {
  const query = "(max-width: 700px)";
  const [narrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => setNarrow(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return narrow;
}

export function Rows<T>(props: RowsProps<T>) {
  const { rows, idOf, columns, ticked, sort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800, before: false, behind: false });
  const [current, setCurrent] = useState(0);
  const lastTicked = useRef(-1);
  const toEnd = useRef(false); // as far as there are rows, also those that come
  const narrow = useNarrow();
  const px = narrow ? narrowRowPx : rowPx;
  const headPx = narrow ? 0 : rowPx;
  const first = Math.max(0, Math.floor(view.top / px) - spare);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / px) + spare);
  const at = Math.min(current, rows.length - 1);

  useEffect(() => {
    const element = scroller.current!;
    const measure = () =>
      setView({ top: element.scrollTop, height: element.clientHeight, before: element.scrollLeft > 0, behind: element.scrollLeft + element.clientWidth < element.scrollWidth - 1 });
    const stay = () => (toEnd.current = false);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(element.firstElementChild!);
    element.addEventListener("scroll", measure, { passive: true });
    element.addEventListener("wheel", stay, { passive: true });
    element.addEventListener("pointerdown", stay, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
      element.removeEventListener("wheel", stay);
      element.removeEventListener("pointerdown", stay);
    };
  }, []);
  useEffect(() => {
    toEnd.current = false;
    lastTicked.current = -1;
    setCurrent(0);
    scroller.current!.scrollTop = 0;
  }, [props.search]);
  useEffect(() => {
    if (props.more && end >= rows.length - 50) props.onEnd();
  }, [end, rows.length, props.more]);

  const moveTo = (next: number) => {
    const place = Math.max(0, Math.min(rows.length - 1, next));
    setCurrent(place);
    const element = scroller.current!;
    const visible = element.clientHeight - headPx;
    if (place * px < element.scrollTop) element.scrollTop = place * px;
    else if ((place + 1) * px > element.scrollTop + visible) element.scrollTop = (place + 1) * px - visible;
  };
  useEffect(() => {
    if (toEnd.current) moveTo(rows.length - 1);
    if (!props.more) toEnd.current = false;
  }, [rows.length, props.more]);
  const tick = (place: number, through: boolean) => {
    const row = rows[place];
    if (!row) return;
    const from = through && lastTicked.current >= 0 ? lastTicked.current : place;
    lastTicked.current = place;
    props.onTick(row, rows.slice(Math.min(from, place), Math.max(from, place) + 1));
  };
  const pageRows = Math.max(1, Math.floor(view.height / px) - 2);
  const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + pageRows, PageUp: at - pageRows, Home: 0, End: rows.length - 1, j: at + 1, k: at - 1 };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = moves[event.key];
    toEnd.current = event.key === "End" && props.more;
    if (next !== undefined) moveTo(next);
    else if (event.key === "Enter" && event.target === scroller.current && rows[at]) props.onOpen(rows[at]);
    else if (event.key === " " && event.target === scroller.current) tick(at, event.shiftKey);
    else return;
    event.preventDefault();
  };
  const widest = narrow ? 0 : columns.reduce((sum, column) => sum + Number(/[\d.]+(?=rem)/.exec(column.width)?.[0] ?? 6) + 0.75, 3.5);
  const template = { gridTemplateColumns: narrow ? "2.5rem 1fr" : `2.5rem ${columns.map((column) => column.width).join(" ")}` };

  const box = (row: T, place: number) => (
    <span role="gridcell" class="tick">
      <input type="checkbox" tabIndex={-1} aria-label="compare" checked={ticked.has(idOf(row))} onClick={(event) => { event.stopPropagation(); tick(place, event.shiftKey); }} />
    </span>
  );
  return (
    <div class={`frame ${view.behind ? "behind" : ""}`}>
    <div ref={scroller} class={`rows ${view.before ? "before" : ""}`} role="grid" aria-label={props.label} aria-rowcount={props.more ? -1 : rows.length + 1} aria-multiselectable="true" tabIndex={0} aria-activedescendant={rows.length ? `row-${at}` : undefined} onKeyDown={onKey}>
      <div class="sheet" role="presentation" style={{ minWidth: `${widest}rem` }}>
      {!narrow && (
        <div class="row head" role="row" style={template}>
          <span role="columnheader" class="tick">
            <span class="hidden">compare</span>
          </span>
          {columns.map((column) => (
            <span key={column.id} role="columnheader" class={`${column.numeric ? "numeric" : ""} ${column.fixed ? "fixed" : ""}`} title={column.hint ?? column.title} aria-sort={sort?.id === column.id ? (sort.descending ? "descending" : "ascending") : undefined}>
              {column.sortable ? (
                <button type="button" onClick={() => props.onSort(column.id)}>
                  {column.title}
                  <span aria-hidden="true">{sort?.id === column.id ? (sort.descending ? " ▾" : " ▴") : ""}</span>
                </button>
              ) : (
                column.title
              )}
            </span>
          ))}
        </div>
      )}
      <div class="space" role="presentation" style={{ height: `${rows.length * px}px` }}>
        {rows.slice(first, end).map((row, i) => {
          const place = first + i;
          return (
            <div
              key={idOf(row)}
              id={`row-${place}`}
              role="row"
              aria-rowindex={place + 2}
              aria-selected={ticked.has(idOf(row))}
              class={`row ${place === at ? "current" : ""} ${narrow ? "narrow" : ""}`}
              style={{ ...template, transform: `translateY(${place * px}px)`, height: `${px}px` }}
              onClick={() => {
                setCurrent(place);
                if (!getSelection()?.toString()) props.onOpen(row);
              }}
            >
              {box(row, place)}
              {narrow ? (
                <span role="gridcell">{props.narrow(row)}</span>
              ) : (
                columns.map((column) => (
                  <span key={column.id} role="gridcell" class={`${column.numeric ? "numeric" : ""} ${column.fixed ? "fixed" : ""}`}>
                    {column.cell(row)}
                  </span>
                ))
              )}
            </div>
          );
        })}
      </div>
      </div>
    </div>
    </div>
  );
}
