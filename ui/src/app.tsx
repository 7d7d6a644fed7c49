// The frame around all pages: who is logged in, where one can go, dark or light, and the help on keys.

import { useEffect, useState } from "preact/hooks";
import { ApiError, whenLoggedOut } from "./api/client.ts";
import { logout, whoAmI } from "./api/tracking.ts";
import type { Me } from "./api/types.ts";
import { ComparePage } from "./pages/compare.tsx";
import { LoginPage } from "./pages/login.tsx";
import { ModelsPage } from "./pages/models.tsx";
import { QueuePage } from "./pages/queue.tsx";
import { RunPage } from "./pages/run.tsx";
import { RunsPage } from "./pages/runs.tsx";
import { StudiesPage } from "./pages/studies.tsx";
import { TokensPage } from "./pages/tokens.tsx";
import { UsersPage } from "./pages/users.tsx";
import { Dialog, Empty, Failure } from "./parts/basics.tsx";
import { hashOf, usePlace, type Place } from "./router.ts";
import { applyTheme, theme, type Theme } from "./theme.ts";

const keys: [string, string][] = [
  ["/", "to the filter, or to the search of a log"],
  ["↑ ↓ or j k", "from run to run; Page Up, Page Down, Home, End too"],
  ["Enter", "open the run"],
  ["Space", "tick it; with Shift, all since the last one ticked"],
  ["c", "compare what is ticked"],
  ["Esc", "leave the filter, close a dialog"],
  ["?", "this list"],
];

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="pairs keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="note">In a chart: drag over a range to enlarge it, double-click for all of it.</p>
    </Dialog>
  );
}

function ThemeSwitch() {
  const [chosen, setChosen] = useState(theme());
  return (
    <select
      class="theme"
      aria-label="Colours"
      value={chosen}
      onChange={(event) => {
        const wanted = event.currentTarget.value as Theme;
        setChosen(wanted);
        applyTheme(wanted);
      }}
    >
      <option value="system">◐ system</option>
      <option value="light">☀ light</option>
      <option value="dark">☾ dark</option>
    </select>
  );
}

/** The address is the page's name, so a fragment cannot be a place in it. */
function toContent(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main [tabindex='0'], main a, main button, main input")?.focus();
}

function Header({ me, place, out, help }: { me: Me; place: Place; out: () => void; help: () => void }) {
  const at = place.parts[0] ?? "runs";
  const link = (page: string, title: string, alias = page) => (
    <a href={hashOf([page])} aria-current={at === page || at === alias ? "page" : undefined}>
      {title}
    </a>
  );
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={toContent}>
        To the content
      </a>
      <a class="brand" href="#/runs">
        linac
      </a>
      <nav aria-label="Pages">
        {link("runs", "Runs", "compare")}
        {link("queue", "Queue")}
        {link("studies", "Studies")}
        {link("models", "Models")}
        {me.role === "admin" && link("users", "Users")}
      </nav>
      <span class="push who">
        <ThemeSwitch />
        <button type="button" class="quiet" aria-label="Keys" title="Keys (?)" onClick={help}>
          ?
        </button>
        <a class="user" href={hashOf(["tokens"])} title={`${me.user}, ${me.role}: my tokens`} aria-label={`My tokens (${me.user})`} aria-current={at === "tokens" ? "page" : undefined}>
          {me.user}
        </a>
        {me.session && (
          <button type="button" class="quiet" onClick={out}>
            Log out
          </button>
        )}
      </span>
    </header>
  );
}

function Page({ place, me }: { place: Place; me: Me }) {
  switch (place.parts[0] ?? "runs") {
    case "runs":
      return place.parts[1] ? <RunPage key={place.parts[1]} place={place} me={me} /> : <RunsPage place={place} me={me} />;
    case "compare":
      return <ComparePage place={place} />;
    case "queue":
      return <QueuePage me={me} />;
    case "studies":
      return <StudiesPage place={place} />;
    case "models":
      return <ModelsPage place={place} me={me} />;
    case "tokens":
      return <TokensPage me={me} />;
    case "users":
      return <UsersPage place={place} me={me} />;
    default:
      return (
        <main class="page">
          <Empty>
            There is no such page. <a href="#/runs">Runs</a>
          </Empty>
        </main>
      );
  }
}

export function App() {
  const place = usePlace();
  const [me, setMe] = useState<Me | null>();
  const [error, setError] = useState<Error>();
  const [help, setHelp] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    whenLoggedOut(() => setMe(null));
    whoAmI().then(
      (found) => {
        setMe(found);
        setError(undefined);
      },
      (caught: Error) => (caught instanceof ApiError && caught.status === 401 ? setMe(null) : setError(caught)),
    );
  }, [round]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const element = event.target as Element;
      if (event.key === "?" && !element.matches("input, textarea, select")) setHelp(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  if (error)
    return (
      <main class="page">
        <Failure error={error} again={() => setRound(round + 1)} />
      </main>
    );
  if (me === undefined) return null;
  if (me === null) return <LoginPage done={setMe} />;
  const gone = () => setMe(null);
  const out = () => void logout().then(gone, gone);
  return (
    <>
      <Header me={me} place={place} out={out} help={() => setHelp(true)} />
      <Page place={place} me={me} />
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}
