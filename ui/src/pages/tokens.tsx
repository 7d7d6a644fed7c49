// What whoever is logged in has alone: tokens for the verbs, MLflow's clients and other browsers, and secrets for jobs.

import type { Me } from "../api/types.ts";
import { Empty } from "../parts/basics.tsx";
import { Secrets } from "../parts/secrets.tsx";
import { Tokens } from "../parts/tokens.tsx";

export function TokensPage({ me }: { me: Me }) {
  return (
    <main class="page">
      <header class="title">
        <h1>My tokens</h1>
        <span class="facts">
          {me.user}, {me.role}
        </span>
      </header>
      <p>
        A token says who you are: <code>linac login</code> asks for one, MLflow's clients take it as <code>MLFLOW_TRACKING_TOKEN</code>, and a browser logs in with it. Give each place one of its own, which may no more than it has to, and revoke the one that is lost.
      </p>
      {me.session ? (
        <section class="card tokens">
          <Tokens user={me.user} role={me.role} />
        </section>
      ) : (
        <Empty>This service asks nobody who they are, so it has no tokens.</Empty>
      )}
      {me.role !== "viewer" && (
        <>
          <h2>My secrets</h2>
          <p>
            Keys with which your jobs read data. A job names those that it needs (<code>secrets: [AWS_ACCESS_KEY_ID, …]</code>) and gets them as variables, or as files that variables name. The service keeps them sealed and shows their values to nobody.
          </p>
          <section class="card tokens">
            <Secrets />
          </section>
        </>
      )}
    </main>
  );
}
