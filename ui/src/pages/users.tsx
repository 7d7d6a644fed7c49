// Users, their tokens, and what was changed by whom, for admins.

import { useEffect, useState } from "preact/hooks";
import { changeUser, createUser, setQuota, users } from "../api/users.ts";
import type { Me, Quota, Role, User } from "../api/types.ts";
import { time } from "../format.ts";
import { useAction } from "../parts/action.tsx";
import { Dialog, Failure, Tabs } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { RoleSelect, Tokens } from "../parts/tokens.tsx";
import { hashOf, type Place } from "../router.ts";
import { AuditTab } from "./audit.tsx";

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
      {open && (
        <Dialog title={`Tokens of ${open.name}`} close={() => setOpen(null)}>
          <Tokens user={open.name} role={open.role} />
        </Dialog>
      )}
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
