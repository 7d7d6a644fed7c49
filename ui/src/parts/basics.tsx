// The small visible things that all pages use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import type { State } from "../api/types.ts";
import { ago, shortest, time } from "../format.ts";

const marks: Record<State, string> = {
  PENDING: "○",
  STARTING: "◔",
  RUNNING: "▶",
  RECOVERING: "↻",
  SUCCEEDED: "✓",
  FAILED: "✕",
  FAILED_PRECHECKS: "✕",
  CANCELLED: "■",
  LOST: "?",
};

export function StateMark({ state, short = false }: { state: State; short?: boolean }) {
  const word = state.toLowerCase().replace("_", " ");
  return (
    <span class={`state state-${state.toLowerCase()}`} title={word}>
      <span aria-hidden="true">{marks[state] ?? "·"}</span>
      {short ? <span class="hidden">{word}</span> : <span>{word}</span>}
    </span>
  );
}

export function Failure({ error, again }: { error: Error | undefined; again?: () => void }) {
  if (!error) return null;
  const title = error instanceof ApiError && error.status === 403 ? "Not allowed" : error instanceof ApiError && error.status === 404 ? "Not found" : "That did not work";
  return (
    <div class="failure" role="alert">
      <strong>{title}.</strong> {error.message}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A text of the catalog; a number that was written with all its digits is shown as short as it can be. */
export function Value({ text }: { text: string }) {
  const short = shortest(text);
  return short === text ? <>{text}</> : <span title={text}>{short}</span>;
}

export function When({ ms, now }: { ms: number; now: number }) {
  return ms > 0 ? (
    <time dateTime={new Date(ms).toISOString()} title={time(ms)}>
      {ago(ms, now)}
    </time>
  ) : null;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      class="quiet"
      onClick={() =>
        void navigator.clipboard?.writeText(text).then(
          () => {
            setDone(true);
            setTimeout(() => setDone(false), 1500);
          },
          () => {}, // the browser does not allow it
        )
      }
    >
      {done ? "Copied" : label}
    </button>
  );
}

export interface Tab {
  id: string;
  title: string;
}

/** Tabs whose choice the address keeps. */
export function Tabs({ tabs, chosen, href, label }: { tabs: readonly Tab[]; chosen: string; href: (id: string) => string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.id} href={href(tab.id)} aria-current={tab.id === chosen ? "page" : undefined}>
          {tab.title}
        </a>
      ))}
    </nav>
  );
}

/** A modal dialog; Escape and a click beside it close it. The browser may tell of its end when the page has left it behind. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onClose={() => ref.current && close()} onClick={(event) => event.target === ref.current && close()}>
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={close}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** Keys and values, with a search when there are many. */
export function Pairs({ title, pairs, empty }: { title: string; pairs: readonly (readonly [string, string])[]; empty: string }) {
  const [wanted, setWanted] = useState("");
  const shown = wanted ? pairs.filter(([key, value]) => `${key}\n${value}\n${shortest(value)}`.toLowerCase().includes(wanted.toLowerCase())) : pairs;
  return (
    <section class="card">
      <header>
        <h2>
          {title} <small>{pairs.length || ""}</small>
        </h2>
        {pairs.length > 12 && (
          <input type="search" placeholder="find" aria-label={`Find in ${title.toLowerCase()}`} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        )}
      </header>
      {pairs.length === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <dl class="pairs">
          {shown.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <Value text={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
