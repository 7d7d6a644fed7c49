// Agents that take jobs which were submitted to them, on hosts of their own.

import type { Agent } from "../api/types.ts";
import { ago, duration, resources, time } from "../format.ts";
import { Table } from "../parts/table.tsx";

function doing(agent: Agent): string {
  if (agent.draining) return "takes no more";
  return agent.coresFree > 0 ? `${agent.coresFree} of ${agent.cores} cores free` : "full";
}

export function AgentsTable({ agents, now }: { agents: Agent[]; now: number }) {
  return (
    <Table card label="Agents" head={["Agent", "Host", "Jobs of", { numeric: "Jobs" }, "Has", "State", "Tags", "Time left", "Heard of", "Version"]}>
      {agents.map((agent) => (
        <tr key={agent.id}>
          <th scope="row">{agent.name}</th>
          <td>{agent.host}</td>
          <td>{agent.shared ? "everybody" : agent.user}</td>
          <td class="numeric">{agent.jobs}</td>
          <td>{resources(agent)}</td>
          <td>{doing(agent)}</td>
          <td>{agent.tags.join(", ")}</td>
          <td>{agent.secondsLeft > 0 ? duration(agent.secondsLeft * 1000) : ""}</td>
          <td title={time(agent.seen)}>{ago(agent.seen, now)}</td>
          <td>{agent.version}</td>
        </tr>
      ))}
    </Table>
  );
}
