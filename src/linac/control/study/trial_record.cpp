#include "linac/control/study/trial_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/job/measures.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/run_states.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr int64_t kReadMax = 64 << 20;    // of a record at a time
constexpr int64_t kSummaryMax = 4 << 20;  // bytes of run.json

Descriptor opened(const std::filesystem::path& folder, const char* name) {
  try {
    return open_below(folder, name);
  } catch (const Error&) {  // it has not begun, or it is no file
    return Descriptor();
  }
}

std::string read_at(const Descriptor& file, int64_t offset, int64_t size) {
  std::string text(static_cast<size_t>(std::max<int64_t>(size, 0)), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), offset);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

/// Its figures come every validate.every_epochs.
bool is_physics(const std::string& metric) {
  const std::string family = metric.substr(0, metric.find('.'));
  const auto& all = job::metrics();
  return std::any_of(all.begin(), all.end(),
                     [&](const job::Metric& one) { return one.of == job::Metric::Of::kPhysics && family == one.name; });
}

struct Epoch {
  int64_t step;  // epochs that are done
  job::Measures measures;
  bool physics;  // its figures are among them
};

/// Of a line of the run's record; nothing: it is none of an epoch.
std::optional<Epoch> epoch_of(std::string_view text) {
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  try {
    if (line.value("kind", "") != "epoch") return std::nullopt;
    Epoch epoch{line.value("epoch", int64_t{-1}) + 1, {}, !line.value("physics", json::object()).empty()};
    for (const char* const part : {"train", "test", "physics"})  // the later ones count
      if (line.contains(part) && line[part].is_object())
        for (const auto& [name, value] : job::measures_from_json(line[part])) epoch.measures[name] = value;
    return epoch;
  } catch (const json::exception&) {  // of other types than a record has
    return std::nullopt;
  }
}

bool is_step(std::string_view text) {
  const json line = json::parse(text, nullptr, false);
  const auto kind = line.is_object() ? line.find("kind") : line.end();
  return line.is_object() && kind != line.end() && *kind == job::StepLine::kKind;
}

/// Calls `take` with the whole lines from `offset` on; returns where they end.
template <class Take>
int64_t each_line(const Descriptor& file, int64_t offset, int64_t size, Take take) {
  while (offset < size) {
    const std::string text = read_at(file, offset, std::min(size - offset, kReadMax));
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(std::string_view(text).substr(begin, end - begin));
    if (begin == 0) break;  // half a line
    offset += static_cast<int64_t>(begin);
  }
  return offset;
}

std::optional<job::RunSummary> summary_in(const std::filesystem::path& folder) {
  const Descriptor file = opened(folder, job::kSummaryFile);
  if (!file) return std::nullopt;
  try {
    return job::read_summary(read_at(file, 0, kSummaryMax), job::kSummaryFile);
  } catch (const Error&) {  // of a newer linac
    return std::nullopt;
  }
}

[[noreturn]] void refuse(const Epoch& epoch, const std::string& metric) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : epoch.measures) names.push_back(name);
  throw user_error(fmt::format("[study] objective.metric: the training reports no '{}' (it reports {})", metric,
                               fmt::join(names, ", ")));
}

}  // namespace

TrialRecord::TrialRecord(const Study& study, std::filesystem::path folder)
    : folder_(std::move(folder)),
      metrics_(study.objective_names()),
      cost_(study.settings.sampler.cost),
      direction_(study.directions().front()),
      last_(study.settings.objective.front().take == "last") {}

std::vector<Measured> TrialRecord::measured() {
  std::vector<Measured> found;
  const Descriptor file = opened(folder_, job::kMetricsFile);
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0) return found;
  // A resume and a rollback put another file in its place.
  if (inode_ != facts.st_ino || facts.st_size < read_) inode_ = facts.st_ino, read_ = 0, steps_ = 0;
  read_ = each_line(file, read_, facts.st_size, [&](std::string_view line) {
    steps_ += is_step(line);
    const auto epoch = epoch_of(line);
    if (!epoch || epoch->step <= seen_) return;
    for (const std::string& metric : metrics_)
      if (!epoch->measures.contains(metric) && (!is_physics(metric) || epoch->physics)) refuse(*epoch, metric);
    const auto value = epoch->measures.find(metrics_.front());
    if (value == epoch->measures.end()) return;
    found.push_back({epoch->step, value->second});
    seen_ = epoch->step;
  });
  return found;
}

std::vector<double> TrialRecord::values_of_epoch() const {
  std::vector<double> chosen;
  const Descriptor file = opened(folder_, job::kMetricsFile);
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0) return chosen;
  each_line(file, 0, facts.st_size, [&](std::string_view line) {
    const auto epoch = epoch_of(line);
    if (!epoch) return;
    std::vector<double> values;
    for (const std::string& name : metrics_)
      if (const auto value = epoch->measures.find(name); value != epoch->measures.end())
        values.push_back(value->second);
    if (values.size() < metrics_.size()) return;  // physics figures come every validate.every_epochs
    if (chosen.empty() || last_ || tune::loss_of(direction_, values[0]) < tune::loss_of(direction_, chosen[0]) ||
        std::isnan(chosen[0]))
      chosen = std::move(values);
  });
  return chosen;
}

double TrialRecord::cost() const {
  double cost = std::nan("");
  if (cost_ == tune::kSeconds) return cost;
  const Descriptor file = opened(folder_, job::kMetricsFile);
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0) return cost;
  each_line(file, 0, facts.st_size, [&](std::string_view line) {
    const auto epoch = epoch_of(line);
    if (!epoch) return;
    if (const auto value = epoch->measures.find(cost_); value != epoch->measures.end()) cost = value->second;
  });
  return possible_cost(cost);
}

double possible_cost(double value) {
  return std::isfinite(value) && value >= 0 ? value : std::nan("");
}

std::optional<int> TrialRecord::exit_status() const {
  const auto summary = summary_in(folder_);
  if (!summary || !summary->error || summary->status != job::to_string(job::RunStatus::kFailed)) return std::nullopt;
  return static_cast<int>(summary->error->exit_code);
}

std::vector<job::ToldEnergy> TrialRecord::told_energies() const {
  return study::told_energies(folder_);
}

std::vector<job::ToldEnergy> told_energies(const std::filesystem::path& folder) {
  auto summary = summary_in(folder);
  return summary && summary->energy ? std::move(summary->energy->told) : std::vector<job::ToldEnergy>();
}

}  // namespace linac::study
