#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "linac/base/base/plural.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/run/words.h"

namespace linac::report {
namespace {

constexpr const char* kReading =
    "<em>Efficiency</em> is the time in which workers computed (compute and test) over all workers' time. A worker's "
    "time runs from its entry into the run to its loss or the end; that of the first workers from the opening of the "
    "data on, that of newcomers from when the others let them in. <em>Pace</em> is the wall time of one replica of a "
    "step, the median over a worker's accounts, which it gives every 10 s or so; a worker is <em>slow</em> where it "
    "takes more than 1.2 times the median of the workers at the same moment. Seconds <em>without training</em> run "
    "from when a view is left to when the next one trains; the unfinished update of the step that is done again, and "
    "the wait for a worker that had fallen silent, come before and are waiting too. <em>Sent</em> is what a worker "
    "sends, states for newcomers included, over the steps that it took part in. <em>Hidden communication</em> is 1 − "
    "the communication above / the time of all exchanges: what goes on while the worker computes. <em>Cost</em> is "
    "the workers' hours times their prices; not computing is all but compute and test.";

std::string utc(double time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

std::string cell(const std::string& label, const std::string& text) {
  return table_cell(label, escape(text), text == "–" ? "class=\"n none\"" : "class=\"n\"");
}

std::string table(const std::string& title, const std::vector<std::string>& heads, const std::string& rows) {
  if (rows.empty()) return {};
  return element("h2", "", escape(title)) +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows));
}

std::string row(const std::string& title, const std::string& small, const std::string& cells) {
  return element("tr", "",
                 element("th", "scope=\"row\"",
                         element("span", "class=\"title\"", escape(title)) +
                             (small.empty() ? "" : element("small", "", escape(small)))) +
                     cells);
}

std::string css(const plot::Colour& colour) {
  const auto byte = [](double value) { return static_cast<int>(std::lround(255 * value)); };
  return fmt::format("rgb({},{},{})", byte(colour.red), byte(colour.green), byte(colour.blue));
}

// One bar for the whole time, readable at any width.
std::string bar_of(const std::vector<TimePart>& parts, double seconds) {
  std::string pieces;
  for (const TimePart& part : parts) {
    if (part.seconds <= 0) continue;
    const std::string hint = fmt::format("{} {}", part.name, percent(part.seconds / seconds));
    pieces += element("span",
                      fmt::format("style=\"width:{:.3f}%;background:{}\" title=\"{}\"", 100 * part.seconds / seconds,
                                  css(part.colour), escape(hint)),
                      "");
  }
  return element("div", "class=\"timebar\" aria-hidden=\"true\"", pieces);
}

std::string status_text(const RunRecord& record) {
  std::string text = record.status.empty() ? "no run.json" : record.status;
  text += fmt::format(" · {} steps, {}", record.steps, plural(record.epochs, "epoch"));
  if (record.steps > 0 && record.events_per_step > 0)
    text += fmt::format(", {} {}", record.steps * record.events_per_step, record.unit);
  return text;
}

std::string headline(const RunReport& report) {
  const bool known = report.time.seconds > 0;
  std::string lines = element("p", "class=\"word\"",
                              known ? escape(percent(report.time.efficiency()) + " of the workers' time was computing")
                                    : "Nothing is known of the workers' time");
  if (known) lines += bar_of(parts_of(report.time), report.time.seconds);
  if (known) lines += element("p", "", escape(summary(report)));
  if (report.input) lines += element("p", "", escape(in_words(*report.input)));
  if (report.reading) lines += element("p", "", escape(in_words(*report.reading)));
  if (report.cost) {
    lines += element("p", "",
                     escape(fmt::format("{}, of which {} not for computing", euros(report.cost->total),
                                        euros(report.cost->not_computing))));
  }
  lines += element("p", "class=\"quiet\"", escape(status_text(report.record)));
  if (!report.record.error.empty()) lines += element("p", "class=\"quiet\"", escape(report.record.error));
  return element("section", "class=\"verdict neutral\"", lines);
}

std::string parts_table(const RunReport& report) {
  if (!(report.time.seconds > 0)) return {};
  std::string rows;
  for (const TimePart& part : parts_of(report.time)) {
    const std::string swatch =
        element("span", fmt::format("class=\"swatch\" style=\"background:{}\"", css(part.colour)), "");
    rows += element("tr", "",
                    element("th", "scope=\"row\"",
                            element("span", "class=\"title\"", swatch + escape(part.name)) +
                                element("small", "", escape(part.meaning))) +
                        cell("share", percent(part.seconds / report.time.seconds)) +
                        cell("worker time", seconds_text(part.seconds)));
  }
  return element("h2", "", "Where the time went") +
         element("table", "class=\"parts\"",
                 table_heads({"part", "share", "worker time"}) + element("tbody", "", rows)) +
         element("p", "class=\"key\"",
                 escape(fmt::format("Of the waiting, up to {} of worker time are starts and up to {} changes of the "
                                    "workers.",
                                    seconds_text(report.starting_s), seconds_text(report.changing_s))));
}

std::string step_table(const RunReport& report) {
  const job::StepTime& time = report.step_time;
  if (time.steps == 0) return {};
  const std::vector<job::NetworkTime> networks =
      time.networks.size() > 1 ? time.networks : std::vector<job::NetworkTime>();
  std::vector<std::string> heads{"part"};
  for (const job::NetworkTime& network : networks) heads.push_back(escape(network.network));
  heads.emplace_back("share");
  heads.emplace_back("of a step");
  std::string rows;
  const std::vector<TimePart> parts = step_parts_of(time);
  for (const TimePart& part : parts) {
    const auto found = std::ranges::find(job::kNetworkParts, std::string_view(part.name), &job::NetworkPart::name);
    std::string cells;
    for (const job::NetworkTime& network : networks)
      cells += cell(network.network,
                    found == job::kNetworkParts.end() ? "–" : percent(network.*found->seconds / time.wall_s));
    rows += row(part.name, part.meaning,
                cells + cell("share", percent(part.seconds / time.wall_s)) +
                    cell("of a step", pace_text(part.seconds / static_cast<double>(time.steps))));
  }
  return element("h2", "", "Where a step's time goes") + bar_of(parts, time.wall_s) +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows)) +
         element("p", "class=\"key\"",
                 escape(fmt::format("A step takes {}. Replicas that compute side by side share the time of computing "
                                    "by the seconds of their threads.{}",
                                    pace_text(time.wall_s / static_cast<double>(time.steps)),
                                    report.record.traced
                                        ? " trace.json in the run's folder has some of them span by span, for "
                                          "ui.perfetto.dev."
                                        : "")));
}

std::string worker_row(const RunReport& report, const RunWorker& worker) {
  const bool lost = worker.departure == Departure::kLost;
  const double origin = report.record.starts[worker.start].begin();
  std::string when =
      fmt::format("{} to {}", seconds_text(worker.entered() - origin), seconds_text(worker.left() - origin));
  if (report.record.starts.size() > 1) when = fmt::format("start {}, {}", worker.start + 1, when);
  std::string slowness = std::isfinite(worker.slowness) ? fmt::format("{:.2f} ×", worker.slowness) : "–";
  if (worker.slow()) slowness.insert(0, "✗ ");
  std::string cells =
      table_cell("from, to", escape(when) + (lost ? " <span class=\"bad\">lost</span>" : ""), "class=\"n\"") +
      cell("computing", percent(worker.time.efficiency())) + cell("replicas", fmt::format("{:.3g}", worker.replicas)) +
      cell("pace", pace_text(worker.pace_s)) +
      table_cell("to the median", worker.slow() ? element("span", "class=\"bad\"", escape(slowness)) : escape(slowness),
                 "class=\"n\"") +
      cell("sent a step", worker.steps > 0
                              ? bytes_text(static_cast<double>(worker.sent_bytes) / static_cast<double>(worker.steps))
                              : "–");
  if (report.cost) cells += cell("cost", euros(worker.time.seconds / 3600 * worker.price));
  return row(fmt::format("{}", worker.key.second), worker.key.first + (lost ? ": " + worker.reason : ""), cells);
}

std::string workers_table(const RunReport& report) {
  std::string rows;
  for (const RunWorker& worker : report.workers) rows += worker_row(report, worker);
  std::vector<std::string> heads{"worker", "from, to", "computing", "replicas", "pace", "to the median", "sent a step"};
  if (report.cost) heads.emplace_back("cost");
  return table("Worker by worker", heads, rows);
}

std::string changes_table(const RunReport& report) {
  std::string rows;
  for (const RunChange& change : report.changes) {
    std::string reasons;
    for (const std::string& reason : change.reasons)
      if (reasons.find(reason) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + reason;
    const double after = change.time - report.record.starts[change.start].begin();
    rows += row(in_words(report, change), reasons,
                cell("after", (report.record.starts.size() > 1 ? fmt::format("start {}, ", change.start + 1) : "") +
                                  seconds_text(after)) +
                    cell("step", fmt::format("{}", change.global_step)) +
                    cell("without training", seconds_text(change.seconds)) +
                    cell("workers then", fmt::format("{}", change.workers)));
  }
  return table("Changes of the workers", {"change", "after", "step", "without training", "workers then"}, rows);
}

std::string starts_table(const RunReport& report) {
  if (report.record.starts.size() < 2) return {};
  std::string rows;
  for (size_t i = 0; i < report.record.starts.size(); ++i) {
    const RunStart& start = report.record.starts[i];
    rows += row(fmt::format("start {}", i + 1), utc(start.begin()),
                cell("ended", start.ended ? start.status : "killed, or goes on") +
                    cell("time", seconds_text(start.end() - start.begin())) +
                    cell("from step", fmt::format("{}", start.views[0].global_step)) +
                    cell("to step", fmt::format("{}", start.last_step)) +
                    cell("workers", fmt::format("{}", start.views[0].members.size())));
  }
  return table("Starts", {"start", "ended", "time", "from step", "to step", "workers"}, rows);
}

std::string pauses_text(const Pauses& pauses) {
  if (pauses.number == 0) return "none";
  if (pauses.number == 1) return "1 · " + seconds_text(pauses.sum);
  return fmt::format("{} · {} in all, {} in the median, {} at most", pauses.number, seconds_text(pauses.sum),
                     seconds_text(pauses.median), seconds_text(pauses.longest));
}

std::vector<std::pair<std::string, std::string>> figures(const RunReport& report) {
  const RunRecord& record = report.record;
  std::vector<std::pair<std::string, std::string>> list{
      {"recoveries from losses, without training", pauses_text(report.losses)},
      {"all changes, without training", pauses_text(report.all_changes)},
      {"steps lost by changes of the workers",
       record.steps_twice + record.steps_missing == 0
           ? "0: each step is in the record once"
           : fmt::format("{} twice, {} missing", record.steps_twice, record.steps_missing)}};
  if (record.starts.size() > 1)
    list.emplace_back("steps done again after restarts", fmt::format("{}", report.steps_redone));
  if (record.rollbacks > 0) list.emplace_back("rollbacks", fmt::format("{}", record.rollbacks));
  if (const job::RunRounds& rounds = record.rounds; rounds.rounds > 0) {
    list.emplace_back("rounds of groups that train apart",
                      fmt::format("{}, of {:.3g} steps", rounds.rounds,
                                  static_cast<double>(rounds.steps) / static_cast<double>(rounds.rounds)));
    list.emplace_back("drift between groups, first and last round",
                      fmt::format("{:.2f}, {:.2f}", rounds.first_drift, rounds.last_drift));
    list.emplace_back("waiting for the last group, and coming together",
                      fmt::format("{:.3g} s, {:.3g} s", rounds.wait_s, rounds.exchange_s));
    list.emplace_back("sent to other groups", bytes_text(static_cast<double>(rounds.bytes)));
    if (rounds.staleness_max > 0)
      list.emplace_back("turns of others between two of a group",
                        fmt::format("{:.3g} in the mean, {} at most", rounds.staleness, rounds.staleness_max));
    if (rounds.anew > 0) list.emplace_back("groups that began a round anew", fmt::format("{}", rounds.anew));
  }
  list.emplace_back("sent, a step and worker", bytes_text(report.sent_per_step));
  list.emplace_back("hidden communication", percent(report.hidden_fraction));
  const job::RunEnergy& energy = report.energy;
  if (energy.kwh) list.emplace_back("energy", fmt::format("{:.3g} kWh", *energy.kwh));
  if (energy.model_kwh) list.emplace_back("of which by a model", fmt::format("{:.3g} kWh", *energy.model_kwh));
  if (energy.idle_kwh) list.emplace_back("of which idle", fmt::format("{:.3g} kWh", *energy.idle_kwh));
  if (energy.co2_kg) list.emplace_back("carbon dioxide", fmt::format("{:.3g} kg", *energy.co2_kg));
  if (const auto& cost = report.cost) {
    list.emplace_back("cost", euros(cost->total));
    list.emplace_back("of which not computing", euros(cost->not_computing));
    if (cost->per_epoch) list.emplace_back("cost of an epoch", euros(*cost->per_epoch));
    if (cost->per_1000_events) list.emplace_back("cost of 1000 " + record.unit, euros(*cost->per_1000_events));
  }
  return list;
}

std::string figures_part(const RunReport& report) {
  if (report.workers.empty()) return {};
  std::string list;
  for (const auto& [name, value] : figures(report))
    list += element("div", "", element("dt", "", escape(name)) + element("dd", "", escape(value)));
  return element("h2", "", "Figures") + element("dl", "", list);
}

// Where the energy's figures are from, or why there are none.
std::string energy_words(const RunReport& report) {
  std::string words;
  for (const std::string& method : report.energy.methods) words += (words.empty() ? "" : "; ") + method;
  if (words.empty()) return {};
  return element("p", "class=\"key\"",
                 escape(fmt::format("Energy of {}: {}. Idle is what they would have taken in the "
                                    "same time without the run, as measured before its first step.",
                                    plural(report.energy.machines, "machine"), words)));
}

std::string planned_part(const RunReport& report) {
  std::string rows;
  for (const PlannedBeside& figure : report.planned) {
    rows += row(figure.what, "",
                cell("planned", planned_text(figure)) +
                    cell("actual", fmt::format("{:.3g} {}", figure.actual, figure.unit)) +
                    table_cell("inside", figure.inside() ? "yes" : "<span class=\"bad\">no</span>"));
  }
  return table("Planned and actual", {"of", "planned", "actual", "inside"}, rows);
}

}  // namespace

std::string to_html(const RunReport& report, const std::vector<NamedPicture>& pictures) {
  return whole_page(report.title, headline(report) + remarks_part(report.remarks) + parts_table(report) +
                                      step_table(report) + figures_part(report) + energy_words(report) +
                                      planned_part(report) + pictures_part(report.title, pictures) +
                                      workers_table(report) + changes_table(report) + starts_table(report) +
                                      facts_part(report.facts) + element("h2", "", "How to read this") +
                                      element("p", "class=\"reading\"", kReading));
}

}  // namespace linac::report
