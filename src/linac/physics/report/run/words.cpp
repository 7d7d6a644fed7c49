#include "linac/physics/report/run/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/money.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/progress.h"

namespace linac::report {
namespace {

constexpr plot::Colour rgb(int hex) {
  return {(hex >> 16 & 255) / 255.0, (hex >> 8 & 255) / 255.0, (hex & 255) / 255.0};
}

std::string names(const RunReport& report, const std::vector<WorkerKey>& workers) {
  std::string text;
  for (const WorkerKey& worker : workers) text += (text.empty() ? "" : ", ") + worker_name(report, worker);
  return text;
}

}  // namespace

std::vector<TimePart> parts_of(const TimeSplit& time) {
  // In the order of job::kPhases; the colours of M. Okabe and K. Ito, "Color universal design", 2008.
  constexpr std::array kColours{rgb(0x0072B2), rgb(0x56B4E9), rgb(0xD55E00), rgb(0x009E73),
                                rgb(0xCC79A7), rgb(0xE69F00), rgb(0xF0E442)};
  static_assert(kColours.size() == job::kPhases.size(), "a new phase needs a colour");
  std::vector<TimePart> parts;
  for (size_t i = 0; i < kColours.size(); ++i)
    parts.push_back({job::kPhases[i].name, job::kPhases[i].meaning, kColours[i], time.phases[i]});
  parts.push_back(
      {"waiting",
       "In no phase: the start, changes of the workers, updates broken off by them, moments between the phases.",
       rgb(0xB4B7BD), time.waiting});
  parts.push_back({"unknown", "After the last account of a worker that was lost, or of a run that was killed.",
                   rgb(0xE9EAEC), time.unknown});
  return parts;
}

std::vector<TimePart> step_parts_of(const job::StepTime& time) {
  // The same palette.
  constexpr std::array kColours{rgb(0x0072B2), rgb(0x56B4E9), rgb(0xD55E00), rgb(0xB4B7BD), rgb(0xCC79A7)};
  static_assert(kColours.size() == job::kNetworkParts.size(), "a new part needs a colour");
  std::vector<TimePart> parts{{job::kInputPart, "Waiting for the next batch.", rgb(0x009E73), time.input_s}};
  for (size_t i = 0; i < kColours.size(); ++i) {
    const job::NetworkPart& part = job::kNetworkParts[i];
    parts.push_back({part.name, part.meaning, kColours[i], job::seconds_of(time, part)});
  }
  parts.push_back({job::kOtherPart, "Between the parts.", rgb(0xF0E442), job::other_s(time)});
  return parts;
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return "–";
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", bytes, unit);
}

std::string seconds_text(double seconds) {
  if (seconds <= 0) return "0 s";
  if (seconds < 0.1) return fmt::format("{:.2g} ms", 1000 * seconds);
  return seconds < 60 ? fmt::format("{:.3g} s", seconds) : format_duration(seconds);
}

std::string pace_text(double pace_s) {
  if (!(pace_s > 0)) return "–";
  return pace_s < 1 ? fmt::format("{:.3g} ms", 1000 * pace_s) : fmt::format("{:.3g} s", pace_s);
}

std::string euros(double amount) {
  return money(amount, "EUR");
}

TimeUnit unit_for(double seconds) {
  if (seconds < 180) return {1, "s"};
  return seconds < 3 * 3600 ? TimeUnit{60, "min"} : TimeUnit{3600, "h"};
}

std::string in_words(const RunReport& report, const RunChange& change) {
  std::string text;
  if (!change.lost.empty()) text = "lost: " + names(report, change.lost);
  if (!change.joined.empty()) text += (text.empty() ? "joined: " : "; joined: ") + names(report, change.joined);
  return text.empty() ? "replicas moved" : text;
}

std::string in_words(const InputWaits& input) {
  std::string text = fmt::format("the first epoch waited {} for its input", seconds_text(input.first_s));
  if (input.opened_s > 0) text += fmt::format(", {} of that before its first step", seconds_text(input.opened_s));
  if (!input.later_s) return text;
  text += fmt::format("; later ones {} each", seconds_text(*input.later_s));
  if (const auto ratio = first_to_later(input)) text += fmt::format(": the first one {:.3g} times as long", *ratio);
  return text;
}

std::string in_words(const job::ToldReading& reading) {
  const std::string failed =
      reading.failed > 0 ? fmt::format("; {} did not come from them, or damaged", plural(reading.failed, "range")) : "";
  return fmt::format("{} came from stores and {} from other workers{}",
                     bytes_text(static_cast<double>(reading.store_bytes)),
                     bytes_text(static_cast<double>(reading.worker_bytes)), failed);
}

std::string summary(const RunReport& report) {
  size_t least = SIZE_MAX, most = 0, lost = 0, joined = 0;
  for (const RunStart& start : report.record.starts) {
    for (const RunView& view : start.views) {
      least = std::min(least, view.members.size());
      most = std::max(most, view.members.size());
    }
  }
  for (const RunChange& change : report.changes) {
    lost += change.lost.size();
    joined += change.joined.size();
  }
  if (most == 0) return {};
  std::string text =
      seconds_text(report.wall_s) + " on " +
      (least == most ? plural(static_cast<int64_t>(most), "worker") : fmt::format("{} to {} workers", least, most));
  if (lost > 0) text += fmt::format(", {} lost", lost);
  if (joined > 0) text += fmt::format(", {} joined", joined);
  if (report.record.starts.size() > 1) text += fmt::format(", started {} times", report.record.starts.size());
  return text;
}

}  // namespace linac::report
