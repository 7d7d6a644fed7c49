// Hosts that computed wrongly, from which jobs keep away.

import type { HostMark } from "../api/types.ts";
import { ago, time } from "../format.ts";
import { Table } from "../parts/table.tsx";
import { hashOf } from "../router.ts";

interface Props {
  marks: HostMark[];
  now: number;
  clear?: (host: string) => void; // of admins
}

export function HostMarksTable({ marks, now, clear }: Props) {
  return (
    <Table card label="Hosts that compute wrongly" head={["Host", "No jobs of", "Since", "Found by", "Worker", "Core", "What", ""]}>
      {marks.map((mark) => (
        <tr key={`${mark.host} ${mark.user}`}>
          <th scope="row">{mark.host}</th>
          <td>{mark.user || "everybody"}</td>
          <td title={time(mark.marked)}>{ago(mark.marked, now)}</td>
          <td>{mark.run && <a href={hashOf(["runs", mark.run])}>{mark.run.slice(0, 8)}</a>}</td>
          <td>{mark.worker}</td>
          <td>{mark.core}</td>
          <td class="why">{mark.what}</td>
          <td>
            {clear && (
              <button type="button" aria-label={`Clear ${mark.host}`} onClick={() => confirm(`Let jobs run on ${mark.host} again?`) && clear(mark.host)}>
                Clear
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
