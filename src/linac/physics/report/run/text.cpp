#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/physics/report/run/words.h"

namespace linac::report {
namespace {

constexpr size_t kWorkersShown = 16;

std::string workers_table(const RunReport& report) {
  TextRows rows{{"worker", "time", "computing", "replicas", "pace", "to the median", ""}};
  for (size_t i = 0; i < std::min(report.workers.size(), kWorkersShown); ++i) {
    const RunWorker& worker = report.workers[i];
    rows.push_back(
        {worker_name(report, worker.key), seconds_text(worker.time.seconds), percent(worker.time.efficiency()),
         fmt::format("{:.3g}", worker.replicas), pace_text(worker.pace_s),
         std::isfinite(worker.slowness) ? fmt::format("{:.2f}", worker.slowness) : "–",
         fmt::format("{}{}", worker.departure == Departure::kLost ? "lost " : "", worker.slow() ? "slow" : "")});
  }
  std::string text = lined_up(rows, 2);
  if (report.workers.size() > kWorkersShown)
    text += fmt::format("  and {} more (report.html)\n", report.workers.size() - kWorkersShown);
  return text + "\n";
}

std::string step_table(const job::StepTime& time) {
  if (time.steps == 0) return {};
  const auto share = [&](double seconds) { return percent(seconds / time.wall_s); };
  const bool several = time.networks.size() > 1;
  TextRows rows{{"of a step"}};
  if (several)
    for (const job::NetworkTime& network : time.networks) rows[0].push_back(network.network);
  rows[0].push_back("all");
  for (const TimePart& part : step_parts_of(time)) {
    rows.push_back({part.name});
    const auto found = std::ranges::find(job::kNetworkParts, std::string_view(part.name), &job::NetworkPart::name);
    for (size_t i = 0; several && i < time.networks.size(); ++i)
      rows.back().push_back(found != job::kNetworkParts.end() ? share(time.networks[i].*found->seconds) : "");
    rows.back().push_back(share(part.seconds));
  }
  return fmt::format("  a step takes {}\n", pace_text(time.wall_s / static_cast<double>(time.steps))) +
         lined_up(rows, 2) + "\n";
}

}  // namespace

std::string to_text(const RunReport& report) {
  if (report.workers.empty()) return {};
  std::string text = fmt::format("  {}: {}\n  {} of the workers' time was computing\n\n", report.record.name,
                                 summary(report), percent(report.time.efficiency()));
  TextRows parts;
  for (const TimePart& part : parts_of(report.time))
    if (part.seconds > 0)
      parts.push_back({part.name, percent(part.seconds / report.time.seconds), seconds_text(part.seconds)});
  text += lined_up(parts, 2) + "\n" + step_table(report.step_time) + workers_table(report);
  const Pauses& pauses = report.all_changes;
  if (pauses.number > 0) {
    text += fmt::format("  {} of the workers: {} without training, {} at most\n",
                        plural(static_cast<int64_t>(pauses.number), "change"), seconds_text(pauses.sum),
                        seconds_text(pauses.longest));
  }
  if (std::isfinite(report.sent_per_step)) {
    text += fmt::format("  a worker sends {} a step; {} of the communication is hidden\n",
                        bytes_text(report.sent_per_step), percent(report.hidden_fraction));
  }
  if (report.input) text += fmt::format("  {}\n", in_words(*report.input));
  if (report.reading) text += fmt::format("  {}\n", in_words(*report.reading));
  if (report.energy.kwh) text += fmt::format("  energy: {}\n", job::in_words(report.energy));
  for (const PlannedBeside& figure : report.planned)
    text += fmt::format("  {}: {:.3g} {}, planned {}{}\n", figure.what, figure.actual, figure.unit,
                        planned_text(figure), figure.inside() ? "" : ", outside");
  if (report.cost) {
    text += fmt::format("  {}, of which {} not for computing", euros(report.cost->total),
                        euros(report.cost->not_computing));
    if (report.cost->per_epoch) text += fmt::format("; {} an epoch", euros(*report.cost->per_epoch));
    if (report.cost->per_1000_events)
      text += fmt::format("; {} for 1000 {}", euros(*report.cost->per_1000_events), report.record.unit);
    text += "\n";
  }
  return text;
}

}  // namespace linac::report
