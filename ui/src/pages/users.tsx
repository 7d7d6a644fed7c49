// Users, their tokens, and what was changed by whom, for admins.

import { useEffect, useState } from "preact/hooks";
import { changeUser, createToken, createUser, revokeToken, setQuota, tokens, users } from "../api/users.ts";
import type { Me, Quota, Role, User } from "../api/types.ts";
import { time } from "../format.ts";
import { useAction } from "../parts/action.tsx";
import { Copy, Dialog, Empty, Failure, Tabs } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf, type Place } from "../router.ts";
import { AuditTab } from "./audit.tsx";

const roles: Role[] = ["viewer", "member", "admin"];
const lifetimes: [string, number][] = [
  ["30 days", 30],
  ["90 days", 90],
  ["1 year", 365],
  ["for ever", 0],
];

function RoleSelect({ value, onChange, label, most = "admin" }: { value: Role; onChange: (role: Role) => void; label: string; most?: Role }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as Role)}>
      {roles.slice(0, roles.indexOf(most) + 1).map((role) => (
        <option key={role}>{role}</option>
      ))}
    </select>
  );
}

function Tokens({ user, close }: { user: User; close: () => void }) {
  const { value, error, again } = useLoaded((signal) => tokens(user.name, signal), [user.name]);
  const { act, busy, shown } = useAction(again);
  const [scope, setScope] = useState<Role>(user.role);
  const [lifetime, setLifetime] = useState(lifetimes[1]![1]);
  const [note, setNote] = useState("");
  const [secret, setSecret] = useState("");
  return (
    <Dialog title={`Tokens of ${user.name}`} close={close}>
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
          act(async () => setSecret(await createToken(user.name, scope, lifetime, note)));
        }}
      >
        <label>
          May act as <RoleSelect label="What the token may" value={scope} onChange={setScope} most={user.role} />
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
                <button type="button" disabled={busy} aria-label={`Revoke ${token.note || token.id}`} onClick={() => confirm("Revoke this token? Who uses it is shut out.") && act(() => revokeToken(user.name, token.id))}>
                  Revoke
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Dialog>
  );
}

/** The user's account of the host. What is typed counts once it is set. */
function AccountForm({ user, busy, set }: { user: User; busy: boolean; set: (account: string) => void }) {
  const [typed, setTyped] = useState(user.account);
  useEffect(() => setTyped(user.account), [user.account]);
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        set(typed.trim());
      }}
    >
      <input aria-label={`Account of ${user.name}`} placeholder="none" size={12} maxLength={64} autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      {typed.trim() !== user.account && (
        <button type="submit" disabled={busy} aria-label={`Set account of ${user.name}`}>
          Set
        </button>
      )}
    </form>
  );
}

const quotas: [keyof Quota, string, number][] = [
  ["jobs", "jobs", 1],
  ["cores", "cores", 1],
  ["coreHours", "core hours a day", 0.1],
];

/** What the user may have at most. */
function QuotaForm({ user, busy, set }: { user: User; busy: boolean; set: (quota: Quota) => void }) {
  const [typed, setTyped] = useState(user.quota);
  useEffect(() => setTyped(user.quota), [user.quota.jobs, user.quota.cores, user.quota.coreHours]);
  const changed = quotas.some(([which]) => typed[which] !== user.quota[which]);
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        set(typed);
      }}
    >
      {quotas.map(([which, words, step]) => (
        <input
          key={which}
          class="quota"
          type="number"
          min={0}
          step={step}
          title={words}
          aria-label={`Quota of ${user.name}: ${words}`}
          placeholder="–"
          value={typed[which] || ""}
          onInput={(event) => setTyped({ ...typed, [which]: Number(event.currentTarget.value) })}
        />
      ))}
      {changed && (
        <button type="submit" disabled={busy} aria-label={`Set quota of ${user.name}`}>
          Set
        </button>
      )}
    </form>
  );
}

function UsersTab({ me }: { me: Me }) {
  const { value, error, again } = useLoaded(users, []);
  const { act, busy, shown } = useAction(again);
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [account, setAccount] = useState("");
  const [open, setOpen] = useState<User | null>(null);
  return (
    <>
      <Failure error={error} again={again} />
      {shown}
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          act(async () => {
            await createUser(name.trim(), role, account.trim());
            setName("");
            setAccount("");
          });
        }}
      >
        <label>
          New user <input required pattern="[a-z0-9._\-]{1,64}" title="1-64 of a-z, 0-9, '.', '_', '-'" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          as <RoleSelect label="Role of the new user" value={role} onChange={setRole} />
        </label>
        <label title="of the host; the user's jobs run under it">
          account for jobs <input size={12} maxLength={64} placeholder="none" autocomplete="off" spellcheck={false} value={account} onInput={(event) => setAccount(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          Add
        </button>
      </form>
      {value && (
        <Table card label="Users" head={["User", "Role", "Account for jobs", "At most: jobs, cores, core hours a day", "Since", "State", ""]}>
          {value.map((user) => (
            <tr key={user.name}>
              <th scope="row">{user.name}</th>
              <td>
                <RoleSelect label={`Role of ${user.name}`} value={user.role} onChange={(wanted) => act(() => changeUser(user.name, { role: wanted }))} />
              </td>
              <td>
                <AccountForm user={user} busy={busy} set={(wanted) => act(() => changeUser(user.name, { account: wanted }))} />
              </td>
              <td>
                <QuotaForm user={user} busy={busy} set={(wanted) => act(() => setQuota(user.name, wanted))} />
              </td>
              <td>{time(user.created)}</td>
              <td>
                {user.disabled ? "disabled " : "active "}
                {user.name !== me.user && (
                  <button type="button" disabled={busy} aria-label={`${user.disabled ? "Enable" : "Disable"} ${user.name}`} onClick={() => act(() => changeUser(user.name, { disabled: !user.disabled }))}>
                    {user.disabled ? "Enable" : "Disable"}
                  </button>
                )}
              </td>
              <td>
                <button type="button" aria-label={`Tokens of ${user.name}`} onClick={() => setOpen(user)}>
                  Tokens
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {open && <Tokens user={open} close={() => setOpen(null)} />}
    </>
  );
}

const tabs = [
  { id: "", title: "Users" },
  { id: "audit", title: "Audit" },
];

export function UsersPage({ place, me }: { place: Place; me: Me }) {
  const tab = place.query.get("tab") ?? "";
  return (
    <main class="page">
      <header class="title">
        <h1>Users</h1>
      </header>
      <Tabs label="Views" tabs={tabs} chosen={tab} href={(id) => hashOf(["users"], { tab: id })} />
      {tab === "audit" ? <AuditTab /> : <UsersTab me={me} />}
    </main>
  );
}
