// A token becomes a session of this browser. The token itself is not kept.

import { useState } from "preact/hooks";
import { login } from "../api/tracking.ts";
import type { Me } from "../api/types.ts";
import { useAction } from "../parts/action.tsx";

const nothing = () => {};

export function LoginPage({ done }: { done: (me: Me) => void }) {
  const [token, setToken] = useState("");
  const { act, busy, shown } = useAction(nothing);
  return (
    <main class="login">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          act(async () => done(await login(token.trim())));
        }}
      >
        <h1>linac</h1>
        <label>
          Token
          <input type="password" name="token" autocomplete="current-password" autofocus required value={token} onInput={(event) => setToken(event.currentTarget.value)} placeholder="linac_…" />
        </label>
        <button type="submit" class="primary" disabled={busy || token.trim() === ""}>
          Log in
        </button>
        {shown}
        <p class="note">
          The first start of <code>linac serve</code> prints a token for the user <code>admin</code>; an admin makes tokens for others under Users.
        </p>
      </form>
    </main>
  );
}
