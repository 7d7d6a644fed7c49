#include "linac/train/train/record/closing_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace linac::train {

std::string epoch_table(const std::vector<Column>& columns, const std::vector<EpochRecord>& history) {
  if (history.empty()) return "";
  const std::pair<const char*, Measures EpochRecord::*> roles[] = {{"train: ", &EpochRecord::train},
                                                                   {"test: ", &EpochRecord::test}};
  std::vector<std::string> lines{"  epoch"};
  for (const EpochRecord& record : history) lines.push_back(fmt::format("  {:>5}", record.epoch + 1));
  for (const auto& [role, measures] : roles) {
    const auto told = [&](const EpochRecord& record) { return !(record.*measures).empty(); };
    if (std::none_of(history.begin(), history.end(), told)) continue;
    lines[0] += fmt::format("   {}", role);
    for (size_t i = 1; i < lines.size(); ++i) lines[i].resize(lines[0].size(), ' ');
    for (const Column& column : columns) {
      std::vector<std::string> cells{column.heading};
      size_t width = 9;
      for (const EpochRecord& record : history) {
        const auto found = (record.*measures).find(column.measure);
        cells.push_back(found == (record.*measures).end() ? "-" : fmt::format("{:.4f}", found->second));
      }
      for (const std::string& cell : cells) width = std::max(width, cell.size());
      for (size_t i = 0; i < lines.size(); ++i) lines[i] += fmt::format("{:>{}} ", cells[i], width);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

std::string phase_table(const std::vector<job::WorkerAccount>& workers) {
  size_t wall = 9, cpu = 6;  // widths
  for (const job::WorkerAccount& worker : workers) {
    for (const job::Phase phase : job::kPhasesInTime) {
      wall = std::max(wall, fmt::formatted_size("{:.1f}", worker.time_in(phase).wall_s));
      cpu = std::max(cpu, fmt::formatted_size("{:.1f}", worker.time_in(phase).cpu_s));
    }
  }
  std::string text = "  seconds by phase, wall (CPU)\n  worker ";
  for (const job::Phase phase : job::kPhasesInTime) text += fmt::format("{:>{}}", job::name_of(phase), wall + cpu + 3);
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    text += fmt::format("\n  {:>6} ", rank);
    for (const job::Phase phase : job::kPhasesInTime) {
      const job::PhaseTime time = workers[rank].time_in(phase);
      text += fmt::format("{:>{}.1f} ({:>{}.1f})", time.wall_s, wall, time.cpu_s, cpu);
    }
  }
  return text + "\n";
}

std::string step_line(const std::vector<job::WorkerAccount>& workers) {
  job::StepTime time;
  for (const job::WorkerAccount& worker : workers)
    if (worker.steps) time += *worker.steps;
  if (time.steps <= 0 || !(time.wall_s > 0)) return "";
  const auto part = [&](const char* name, double seconds) {
    return fmt::format("{} {:.1f} %", name, 100 * seconds / time.wall_s);
  };
  std::string text = fmt::format("  a step of {:.3g} s: {}", time.wall_s / static_cast<double>(time.steps),
                                 part(job::kInputPart, time.input_s));
  for (const job::NetworkPart& one : job::kNetworkParts) text += ", " + part(one.name, job::seconds_of(time, one));
  return text + ", " + part(job::kOtherPart, job::other_s(time)) + "\n";
}

}  // namespace linac::train
