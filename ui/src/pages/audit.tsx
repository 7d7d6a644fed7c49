// What was changed by whom, for admins.

import { useState } from "preact/hooks";
import { audit, auditMost } from "../api/users.ts";
import type { AuditEntry } from "../api/types.ts";
import { time } from "../format.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";

const firstEntries = 1000;
const rowsMax = 500;

/** Those that have every word of `wanted` somewhere. */
export function fitting(entries: readonly AuditEntry[], wanted: string): AuditEntry[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((one) => {
    const all = `${time(one.time)} ${one.user} ${one.action} ${one.object} ${one.from}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

export function AuditTab() {
  const [limit, setLimit] = useState(firstEntries);
  const [wanted, setWanted] = useState("");
  const { value, error, loading, again } = useLoaded((signal) => audit(limit, signal), [limit]);
  const found = fitting(value ?? [], wanted);
  return (
    <>
      <div class="controls">
        <input id="filter" type="search" placeholder="user, action, object…" aria-label="Find entries" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        <span class="small" aria-live="polite">
          {value && `${found.length} of the newest ${value.length}`}
        </span>
        {value?.length === limit && limit < auditMost && (
          <button type="button" disabled={loading} onClick={() => setLimit(auditMost)}>
            Look further back
          </button>
        )}
      </div>
      <Failure error={error} again={again} />
      {value && found.length === 0 && <Empty>{value.length ? "No entry fits." : "Nothing has been changed yet."}</Empty>}
      {found.length > 0 && (
        <Table card label="Audit" head={["When", "User", "Action", "Object", "From"]}>
          {found.slice(0, rowsMax).map((one, i) => (
            <tr key={i}>
              <td>{time(one.time)}</td>
              <th scope="row">{one.user}</th>
              <td>{one.action}</td>
              <td>{one.object}</td>
              <td>{one.from}</td>
            </tr>
          ))}
        </Table>
      )}
      {found.length > rowsMax && <p class="note">{found.length - rowsMax} more; the filter finds them.</p>}
    </>
  );
}
