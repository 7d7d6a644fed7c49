// Views: addresses of pages, with all that is chosen in them, kept in this browser under names.

import { useKept } from "./hooks.ts";
import { go } from "../router.ts";

interface View {
  name: string;
  hash: string;
}

const viewsMax = 100;
const nameMax = 80;

/** Kept ones of the page whose address begins with `page`. */
export function Views({ page }: { page: string }) {
  const [views, setViews] = useKept<View[]>("views", []);
  const valid = Array.isArray(views) ? views.filter((view) => typeof view?.name === "string" && typeof view?.hash === "string" && view.hash.startsWith("#/")) : [];
  const own = valid.filter((view) => view.hash.startsWith(page));
  const keep = () => {
    const name = prompt("Name of this view, as it is now:")?.trim().slice(0, nameMax);
    if (name) setViews([...valid.filter((view) => view.name !== name || !view.hash.startsWith(page)), { name, hash: location.hash }].slice(-viewsMax));
  };
  const current = own.find((view) => view.hash === location.hash);
  const forget = (name: string) => setViews(valid.filter((view) => view.name !== name || !view.hash.startsWith(page)));
  return (
    <select
      aria-label="Views"
      value={current ? `=${current.name}` : ""}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        const view = own.find((one) => `=${one.name}` === chosen);
        event.currentTarget.value = "";
        if (chosen === "+") keep();
        else if (chosen === "-" && current) forget(current.name);
        else if (view) go(view.hash);
      }}
    >
      <option value="">Views</option>
      {own.map((view) => (
        <option key={view.name} value={`=${view.name}`}>
          {view.name}
        </option>
      ))}
      <option value="+">Keep this view…</option>
      {current && <option value="-">Forget {current.name}</option>}
    </select>
  );
}
