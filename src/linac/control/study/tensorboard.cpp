#include "linac/control/study/tensorboard.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/event_file.h"

namespace linac::study {
namespace {

using Settings = std::map<std::string, HyperParameter>;

HyperParameter value_of(const tune::Parameter& parameter, double value) {
  if (parameter.categorical()) return parameter.choices.at(static_cast<size_t>(value));
  return value;
}

std::vector<std::string> final_tags(const Ledger& ledger) {
  std::vector<std::string> tags = ledger.study().objective_names();
  for (std::string& name : tags) name = "objective/" + name;
  return tags;
}

/// What all trials share: of the study itself, in a file beside their folders.
void write_columns(const Ledger& ledger, const std::filesystem::path& folder) {
  const tune::Space& space = ledger.history().space();
  Settings columns;
  for (size_t i = 0; i < space.size(); ++i) columns[space[i].name] = value_of(space[i], 0);
  const auto trials = ledger.history().trials();
  const double begin = trials.empty() ? 0 : ledger.times_of(trials.front().number).asked;
  EventFileWriter writer(folder, [begin] { return begin; });
  writer.hparams_columns(columns, final_tags(ledger));
  writer.flush();
}

void write_trial(const Ledger& ledger, const tune::Trial& trial, const std::filesystem::path& folder) {
  const tune::Space& space = ledger.history().space();
  const std::string measured = ledger.study().objective_names().front();
  const std::vector<std::string> tags = final_tags(ledger);
  const Ledger::Times times = ledger.times_of(trial.number);
  double now = times.asked;
  EventFileWriter writer(folder / fmt::format("{:04}", trial.number), [&now] { return now; });
  Settings settings;
  for (size_t i = 0; i < space.size(); ++i)
    if (!std::isnan(trial.point[i])) settings[space[i].name] = value_of(space[i], trial.point[i]);
  writer.hparams(settings);
  if (trial.state != tune::State::kRunning && times.told > 0) now = times.told;
  int64_t last = 0;
  for (const auto& [step, loss] : trial.curve)
    writer.scalar(measured, last = step, tune::loss_of(ledger.history().directions().front(), loss));
  for (size_t i = 0; i < trial.values.size() && trial.state == tune::State::kComplete; ++i)
    writer.scalar(tags[i], last, trial.values[i]);
  const bool bad = trial.state == tune::State::kFailed || trial.state == tune::State::kInfeasible;
  if (!trial.reason.empty()) writer.text("reason", last, trial.reason);
  if (trial.state != tune::State::kRunning)
    writer.session_end(bad ? EventFileWriter::Outcome::kFailure : EventFileWriter::Outcome::kSuccess);
  writer.flush();
}

}  // namespace

void write_tensorboard(const Ledger& ledger, const std::filesystem::path& folder) {
  if (std::filesystem::exists(std::filesystem::symlink_status(folder)))
    throw user_error(fmt::format("[study] {}: is there already, perhaps in use; choose another --to", folder.string()));
  try {
    write_columns(ledger, folder);
    for (const tune::Trial& trial : ledger.history().trials()) write_trial(ledger, trial, folder);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    throw;
  }
}

}  // namespace linac::study
