// A user's tokens: made, listed, revoked. The service tells a secret once.

import { useState } from "preact/hooks";
import { createToken, revokeToken, tokens } from "../api/users.ts";
import type { Role } from "../api/types.ts";
import { time } from "../format.ts";
import { useAction } from "./action.tsx";
import { Copy, Empty, Failure } from "./basics.tsx";
import { useLoaded } from "./hooks.ts";
import { Table } from "./table.tsx";

const roles: Role[] = ["viewer", "member", "admin"];
const lifetimes: [string, number][] = [
  ["30 days", 30],
  ["90 days", 90],
  ["1 year", 365],
  ["for ever", 0],
];

export function RoleSelect({ value, onChange, label, most = "admin" }: { value: Role; onChange: (role: Role) => void; label: string; most?: Role }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as Role)}>
      {roles.slice(0, roles.indexOf(most) + 1).map((role) => (
        <option key={role}>{role}</option>
      ))}
    </select>
  );
}

/** `role`: the most that a token of theirs may. */
export function Tokens({ user, role }: { user: string; role: Role }) {
  const { value, error, again } = useLoaded((signal) => tokens(user, signal), [user]);
  const { act, busy, shown } = useAction(again);
  const [scope, setScope] = useState<Role>(role);
  const [lifetime, setLifetime] = useState(lifetimes[1]![1]);
  const [note, setNote] = useState("");
  const [secret, setSecret] = useState("");
  return (
    <>
      <Failure error={error} />
      {shown}
      {secret && (
        <p class="secret" role="status">
          This is shown once: <code>{secret}</code> <Copy text={secret} />
        </p>
      )}
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          act(async () => setSecret(await createToken(user, scope, lifetime, note)));
        }}
      >
        <label>
          May act as <RoleSelect label="What the token may" value={scope} onChange={setScope} most={role} />
        </label>
        <label>
          valid{" "}
          <select value={lifetime} onChange={(event) => setLifetime(Number(event.currentTarget.value))}>
            {lifetimes.map(([words, days]) => (
              <option key={days} value={days}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          for <input value={note} maxLength={200} placeholder="laptop" onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          Make a token
        </button>
      </form>
      {value?.length === 0 && <Empty>No tokens.</Empty>}
      {value && value.length > 0 && (
        <Table label="Tokens" head={["For", "May act as", "Made", "Used", "Ends", ""]}>
          {value.map((token) => (
            <tr key={token.id}>
              <th scope="row">{token.note || token.id}</th>
              <td>{token.scope}</td>
              <td>{time(token.created)}</td>
              <td>{time(token.used) || "never"}</td>
              <td>{time(token.expires) || "never"}</td>
              <td>
                <button type="button" disabled={busy} aria-label={`Revoke ${token.note || token.id}`} onClick={() => confirm(`Revoke this token? Who uses it is shut out, and browsers in which ${user} is logged in have to log in anew.`) && act(() => revokeToken(user, token.id))}>
                  Revoke
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
