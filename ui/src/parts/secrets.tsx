// The caller's secrets: set, listed, removed. A value goes to the service and is never shown again, here neither.

import { useState } from "preact/hooks";
import { removeSecret, secrets, setSecret } from "../api/secrets.ts";
import type { SecretKind } from "../api/types.ts";
import { time } from "../format.ts";
import { useAction } from "./action.tsx";
import { Empty, Failure } from "./basics.tsx";
import { useLoaded } from "./hooks.ts";
import { Table } from "./table.tsx";

const kinds: [string, SecretKind | ""][] = [
  ["as its name says", ""],
  ["a variable", "env"],
  ["a file", "file"],
];

export function Secrets() {
  const { value: all, error, again } = useLoaded((signal) => secrets(signal), []);
  const { act, busy, shown } = useAction(again);
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [as, setAs] = useState<SecretKind | "">("");
  return (
    <>
      <Failure error={error} />
      {shown}
      <form
        class="controls"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          act(async () => {
            await setSecret(name, value, as || undefined);
            setName("");
            setValue("");
          });
        }}
      >
        <label>
          Name <input value={name} required maxLength={128} pattern="[A-Z_][A-Z0-9_]*" placeholder="AWS_SECRET_ACCESS_KEY" spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          value <textarea class="hidden-text" value={value} required rows={1} spellcheck={false} autocomplete="off" onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
        <label>
          as{" "}
          <select value={as} onChange={(event) => setAs(event.currentTarget.value as SecretKind | "")}>
            {kinds.map(([words, kind]) => (
              <option key={kind} value={kind}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary" disabled={busy}>
          Keep it
        </button>
      </form>
      {all?.length === 0 && <Empty>No secrets.</Empty>}
      {all && all.length > 0 && (
        <Table label="Secrets" head={["Name", "Given as", "Set", "Used", ""]}>
          {all.map((secret) => (
            <tr key={secret.name}>
              <th scope="row">{secret.name}</th>
              <td>{secret.as === "file" ? "a file" : "a variable"}</td>
              <td>{secret.readable ? time(secret.changed) : "its key is lost: set it again"}</td>
              <td>{time(secret.used) || "never"}</td>
              <td>
                <button type="button" disabled={busy} aria-label={`Remove ${secret.name}`} onClick={() => confirm(`Remove ${secret.name}? Jobs that ask for it and have not started are refused then.`) && act(() => removeSecret(secret.name))}>
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
