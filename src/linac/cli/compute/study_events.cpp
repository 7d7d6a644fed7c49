#include "linac/cli/compute/study_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/train/tensorboard.h"

namespace linac::cli {
namespace {

namespace fs = std::filesystem;
using train::EventFileWriter;

bool is_trial_folder(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.symlink_status().type() == fs::file_type::directory &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// What an earlier call has left would be read beside the new files.
void clear(const fs::path& folder) {
  const fs::directory_iterator entries(folder);
  std::vector<fs::path> former;
  for (const fs::directory_entry& entry : entries) {
    if (!is_trial_folder(entry))
      throw user_error(fmt::format("[study] {}: has {}, which is no trial; name a new folder", folder.string(),
                                   entry.path().filename().string()));
    former.push_back(entry.path());
  }
  for (const fs::path& one : former) fs::remove_all(one);
}

std::map<std::string, train::HyperParameter> values_of(const report::StudyRecord& record,
                                                       const report::StudyTrial& trial) {
  std::map<std::string, train::HyperParameter> values;
  for (size_t i = 0; i < record.parameters.size(); ++i) {
    if (trial.words[i].empty()) continue;  // its conditions do not hold
    const std::string& name = record.parameters[i].name;
    if (record.parameters[i].choices.empty())
      values[name] = trial.at[i];
    else
      values[name] = trial.words[i];
  }
  return values;
}

void write_trial(const report::StudyRecord& record, const report::StudyTrial& trial,
                 const std::vector<std::string>& metrics, const fs::path& folder) {
  EventFileWriter events(folder);
  events.hparams(values_of(record, trial), metrics);
  int64_t step = 0;
  for (const auto& [at, value] : trial.curve) {
    step = std::max(step, static_cast<int64_t>(at));
    if (!trial.complete() || at < trial.curve.back().first) events.scalar(metrics[0], static_cast<int64_t>(at), value);
  }
  // The value as told comes last: it is what the tab shows.
  for (size_t i = 0; i < trial.values.size() && i < metrics.size(); ++i)
    events.scalar(metrics[i], step, trial.values[i]);
  if (trial.complete() || trial.state == "pruned")
    events.session_end(EventFileWriter::Outcome::kSuccess);
  else if (trial.state != "running")
    events.session_end(EventFileWriter::Outcome::kFailure);
}

}  // namespace

void write_study_events(const report::StudyRecord& record, const fs::path& folder) {
  make_folder(folder);
  clear(folder);
  std::vector<std::string> metrics;
  for (const report::StudyObjective& objective : record.objectives) metrics.push_back(objective.name);
  for (const report::StudyTrial& trial : record.trials)
    write_trial(record, trial, metrics, folder / fmt::format("{:04}", trial.number));
}

}  // namespace linac::cli
