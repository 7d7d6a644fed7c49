// What a job would take at each place that it may be sent to: ranked, with the reasons, and re-ranked as the wishes change.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { makePlan, type Plan, type PlanRow, type Subject } from "../api/plans.ts";
import { budgetText, deadlineText, digits, durationWords, inWords, moneyOf, noWishes, partsOf, unitOf, wishesOf, type IntervalWords, type WishTexts } from "../plan.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useKept, useLoaded, useSettled } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf } from "../router.ts";
import { secondsOf } from "../submission.ts";
import { PlanChart } from "./plan_chart.tsx";

const settleMs = 150;
const rowsAtFirst = 12, barsMax = 8;

function Words({ words }: { words: IntervalWords | undefined }) {
  if (!words) return <td class="numeric">–</td>;
  return (
    <td class="numeric">
      {words.middle} <small>({words.between})</small>
    </td>
  );
}

function Wishes({ texts, change }: { texts: WishTexts; change: (part: Partial<WishTexts>) => void }) {
  const field = (title: string, name: "deadline" | "budget" | "machines" | "hosts" | "goal", placeholder: string, hint: string) => (
    <label title={hint}>
      {title}
      <input value={texts[name]} placeholder={placeholder} spellcheck={false} autocomplete="off" onInput={(event) => change({ [name]: event.currentTarget.value })} />
    </label>
  );
  return (
    <form class="card form" aria-label="Wishes" onSubmit={(event) => event.preventDefault()}>
      <div class="fields wishes">
        {field("Deadline", "deadline", "8h", "what misses it more than once in five is not good")}
        {field("Budget", "budget", "200", "likewise money")}
        <label>
          Currency
          <select value={texts.currency} onChange={(event) => change({ currency: event.currentTarget.value, budget: "" })}>
            {["USD", "EUR", "CHF", "GBP"].map((code) => (
              <option key={code}>{code}</option>
            ))}
          </select>
        </label>
        <label>
          Least first
          <select value={texts.by} onChange={(event) => change({ by: event.currentTarget.value })}>
            {["money", "time", "energy", "carbon"].map((order) => (
              <option key={order}>{order}</option>
            ))}
          </select>
        </label>
        {field("Renting these, too", "machines", "gcp/v100*, aws/*", "machines of the price book: linac plan prices lists them")}
        {field("so many of each", "hosts", "1", "at most")}
        {field("Until", "goal", "test auc >= 0.98", "a measure of an epoch, by the curves of earlier runs; else all steps")}
        <label class="check" title="hosts that may be taken away, where a price is known">
          <input type="checkbox" checked={texts.spot} onChange={(event) => change({ spot: event.currentTarget.checked })} /> spot, too
        </label>
      </div>
    </form>
  );
}

function Bars({ plan }: { plan: Plan }) {
  const rows = plan.rows.slice(0, barsMax);
  const longest = Math.max(...rows.map((row) => row.seconds.high));
  const names = partsOf(rows[0]!, plan.steps).map((part) => part.name);
  const shown = names.filter((_, i) => rows.some((row) => partsOf(row, plan.steps)[i]!.seconds > 0));
  return (
    <section class="card">
      <h2>Where the time goes</h2>
      <ul class="planparts">
        {shown.map((name) => (
          <li key={name}>
            <span class={`swatch part-${names.indexOf(name)}`} /> {name}
          </li>
        ))}
      </ul>
      <div class="planbars">
        {rows.map((row) => (
          <div key={row.name} class={row.good ? "" : "off"}>
            <span class="where" title={row.name}>{row.name}</span>
            <span class="times" title={partsOf(row, plan.steps).filter((part) => part.seconds > 0).map((part) => `${part.name} ${digits(part.seconds / unitOf(part.seconds)[0])} ${unitOf(part.seconds)[1]}`).join(", ")}>
              {partsOf(row, plan.steps).map((part, i) => part.seconds > 0 && <span key={i} class={`part-${i}`} style={{ width: `${(100 * part.seconds) / longest}%` }} />)}
              <span class="spread" style={{ left: `${(100 * row.seconds.low) / longest}%`, width: `${(100 * (row.seconds.high - row.seconds.low)) / longest}%` }} />
            </span>
            <span class="facts">{durationWords(row.seconds).middle}</span>
          </div>
        ))}
      </div>
      <p class="note">Lines: four of five should end between their ends.</p>
    </section>
  );
}

function Why({ row, plan }: { row: PlanRow; plan: Plan }) {
  return (
    <section class="card" aria-label="Why">
      <h2>{row.name}</h2>
      <dl class="pairs">
        {partsOf(row, plan.steps)
          .filter((part) => part.seconds > 0)
          .map((part) => (
            <div key={part.name}>
              <dt>{part.name}</dt>
              <dd>
                {digits(part.seconds / unitOf(part.seconds)[0])} {unitOf(part.seconds)[1]}
              </dd>
            </div>
          ))}
      </dl>
      {row.preemptions > 0 && (
        <p class="note">
          Taken away {row.preemptions.toFixed(1)} times; a checkpoint every {Math.max(1, Math.round(row.checkpointMinutes))} min is best.
        </p>
      )}
      {row.remarks.map((remark) => (
        <p class="note" key={remark}>
          {remark}
        </p>
      ))}
    </section>
  );
}

function Ranked({ plan, chosen, choose }: { plan: Plan; chosen: string; choose: (name: string) => void }) {
  const [all, setAll] = useState(false);
  const shown = all ? plan.rows : plan.rows.slice(0, rowsAtFirst);
  const known = (value: PlanRow["kwh"]) => value && inWords(value);
  const money = (row: PlanRow) => known(moneyOf(row, plan));
  const has = { money: plan.rows.some((row) => row.usd), kwh: plan.rows.some((row) => row.kwh), co2: plan.rows.some((row) => row.co2) };
  const head = ["", "Where", { numeric: "Time" }, { numeric: "A step" }, ...(has.money ? [{ numeric: plan.currency }] : []), ...(has.kwh ? [{ numeric: "kWh" }] : []), ...(has.co2 ? [{ numeric: "kg CO₂" }] : []), { numeric: "In time" }];
  return (
    <>
      <Table card label="Places" head={head}>
        {shown.map((row) => (
          <tr key={row.name} class={`${row.good ? "" : "off"} ${row.name === chosen ? "chosen" : ""}`}>
            <td title={row.good ? (row.front ? "nothing is both sooner and cheaper" : "") : row.fits ? "misses deadline or budget more often than once in five" : "does not fit"}>
              {row.good ? "" : "✗"}
              {row.front ? "★" : ""}
            </td>
            <th scope="row">
              <button type="button" class="link" aria-pressed={row.name === chosen} onClick={() => choose(row.name)}>
                {row.name}
              </button>
            </th>
            <Words words={durationWords(row.seconds)} />
            <Words words={durationWords(row.step)} />
            {has.money && <Words words={money(row)} />}
            {has.kwh && <Words words={known(row.kwh)} />}
            {has.co2 && <Words words={known(row.co2)} />}
            <td class="numeric">{Math.round(100 * row.onTime)} %</td>
          </tr>
        ))}
      </Table>
      <p class="note">
        In brackets: four of five should be in between. ★: nothing is both sooner and cheaper. ✗: does not fit, or misses deadline or budget more often than once in five.{" "}
        {plan.rows.length > rowsAtFirst && (
          <button type="button" onClick={() => setAll(!all)}>
            {all ? "Fewer" : `All ${plan.rows.length}`}
          </button>
        )}
        {plan.count > plan.rows.length && ` ${plan.count - plan.rows.length} more are not shown.`}
      </p>
    </>
  );
}

function Origin({ plan }: { plan: Plan }) {
  const [first] = plan.measured;
  return (
    <p class="note">
      {plan.goal}.{" "}
      {first && (
        <>
          Measured by <a href={hashOf(["runs", first.run])}>{first.name}</a> on {first.host}: {first.steps} steps of {digits(first.step / unitOf(first.step)[0])} {unitOf(first.step)[1]}
          {plan.measured.length > 1 && `, and on ${plan.measured.length - 1} more`}.{" "}
        </>
      )}
      {plan.learned > 0 && `Intervals are learned from ${plan.learned} planned ${plan.learned === 1 ? "run" : "runs"}.`}
    </p>
  );
}

/** Seconds, or a sum, of a text that is being written; 0 while it is none. */
function orNone(read: () => number): number {
  try {
    return read() || 0;
  } catch {
    return 0;
  }
}

export function PlanView({ subject }: { subject: Subject }) {
  const [texts, setTexts] = useKept<WishTexts>("plan.wishes", noWishes);
  const [chosen, setChosen] = useState("");
  const change = (part: Partial<WishTexts>) => setTexts({ ...noWishes, ...texts, ...part });
  const asked = useSettled(JSON.stringify(texts), settleMs);
  const what = JSON.stringify(subject);
  const { value: plan, error, loading, again } = useLoaded((signal) => Promise.resolve().then(() => makePlan(JSON.parse(what) as Subject, wishesOf({ ...noWishes, ...(JSON.parse(asked) as WishTexts) }), signal)), [asked, what]);
  const row = useMemo(() => plan?.rows.find((one) => one.name === chosen) ?? plan?.rows[0], [plan, chosen]);
  useEffect(() => setChosen(""), [what]);
  const unmeasured = error instanceof ApiError && error.code === "INVALID_STATE";
  return (
    <div class="plan" aria-busy={loading}>
      {!unmeasured && <Wishes texts={{ ...noWishes, ...texts }} change={change} />}
      {unmeasured ? <Empty>{error.message.replace(/^\[plan\] /, "")}</Empty> : <Failure error={error} again={again} />}
      {!plan && !error && <Empty>planning…</Empty>}
      {plan && !unmeasured && (
        <>
          {plan.remarks.map((remark) => (
            <p class="warn" key={remark}>
              {remark}
            </p>
          ))}
          <Origin plan={plan} />
          {plan.rows.length === 0 ? (
            <Empty>No place has room for it.</Empty>
          ) : (
            <>
              {!plan.rows[0]!.good && (
                <p class="failure" role="status">
                  Nothing meets deadline and budget.
                </p>
              )}
              <Ranked plan={plan} chosen={row?.name ?? ""} choose={setChosen} />
              <div class="plancolumns">
                <section class="card">
                  <h2>Time and {plan.rows.some((one) => one.usd) ? "money" : "energy"}</h2>
                  <PlanChart
                    plan={plan}
                    deadline={orNone(() => secondsOf(texts.deadline))}
                    budget={orNone(() => Number(texts.budget))}
                    onDeadline={(seconds) => change({ deadline: deadlineText(seconds) })}
                    onBudget={(money) => change({ budget: budgetText(money) })}
                    chosen={row?.name ?? ""}
                    choose={setChosen}
                  />
                  <p class="note">Move the lines of deadline and budget, by hand or with the arrow keys. Large: nothing is both sooner and cheaper.</p>
                </section>
                {row && <Why row={row} plan={plan} />}
              </div>
              <Bars plan={plan} />
            </>
          )}
        </>
      )}
    </div>
  );
}
