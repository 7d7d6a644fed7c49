// Studies that one may read.

import { useEffect } from "preact/hooks";
import { studies } from "../api/studies.ts";
import { ago, time } from "../format.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useLoaded, useNow } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf, type Place } from "../router.ts";
import { StudyPage } from "./study.tsx";

const refreshMs = 5000;

function StudyList() {
  const { value, error, again } = useLoaded(studies, []);
  const now = useNow(1000);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || again(), refreshMs);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <main class="page">
      <header class="title">
        <h1>Studies</h1>
      </header>
      <Failure error={error} again={again} />
      {value?.length === 0 && (
        <Empty>
          There is no study. <code>linac study new STUDY.yaml --server … --out NAME</code> makes one.
        </Empty>
      )}
      {value && value.length > 0 && (
        <Table card label="Studies" head={["Study", "User", { numeric: "Told" }, { numeric: "Asked for" }, "Changed", "Made"]}>
          {value.map((one) => (
            <tr key={one.name}>
              <th scope="row">
                <a href={hashOf(["studies", one.name])}>{one.name}</a>
              </th>
              <td>{one.user}</td>
              <td class="numeric">{one.told}</td>
              <td class="numeric">{one.trials}</td>
              <td title={time(one.updated)}>{ago(one.updated, now)}</td>
              <td title={time(one.created)}>{ago(one.created, now)}</td>
            </tr>
          ))}
        </Table>
      )}
    </main>
  );
}

export function StudiesPage({ place }: { place: Place }) {
  return place.parts[1] ? <StudyPage key={place.parts[1]} name={place.parts[1]} place={place} /> : <StudyList />;
}
