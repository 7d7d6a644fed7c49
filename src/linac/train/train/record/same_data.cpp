#include "linac/train/train/record/same_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/train/train/agreement.h"

namespace linac::train {
namespace {

// Those of run.json, in the run's last start, that are others now.
std::string changed_files(const RunFolder& folder, const nlohmann::json& now, const std::string& role) {
  const auto before = folder.summary();
  std::vector<job::DataFile> then;
  if (before && before->data.contains(role)) then = before->data.at(role);
  const std::vector<job::DataFile> files = job::data_files_from(now)[role];
  std::vector<std::string> changed;
  for (size_t i = 0; i < std::max(files.size(), then.size()); ++i) {
    if (i < files.size() && i < then.size() && files[i].fingerprint == then[i].fingerprint) continue;
    changed.push_back(i < files.size() ? files[i].url : then[i].url);
  }
  if (changed.empty() || then.empty()) return fmt::format("data.{}", role);
  const size_t others = changed.size() - 1;
  return fmt::format("data.{}, {}{},", role, changed.front(),
                     others == 0 ? "" : fmt::format(" and {}", plural(static_cast<int64_t>(others), "other")));
}

}  // namespace

void need_same_data(const nlohmann::json& notes, const RunFolder& folder, const DataNow& now, bool accept) {
  const auto then = notes.value("data", nlohmann::json::object());  // of an older version empty
  for (const auto& [role, digest] : then.items()) {
    if (now.digests.value(role, digest) == digest) continue;
    const std::string what =
        role == "scaling" ? fmt::format("data.scaling, {},", now.scaling) : changed_files(folder, now.files, role);
    if (accept) {
      log::warn(fmt::format("{} has changed since the run's last start, and --accept-data goes on with it", what));
      continue;
    }
    throw data_error(fmt::format(
        "[train] {} has changed since the run's last start: its state was trained with another content. Put "
        "that back, start a new run with another --out, or go on with what is there now: --accept-data",
        what));
  }
}

void need_same_classes(const nlohmann::json& notes, const nlohmann::json& notes_now) {
  const auto then = notes.value("classes", nlohmann::json::object());
  const auto now = notes_now.value("classes", nlohmann::json::object());
  if (then == now) return;
  throw data_error(
      fmt::format("[train] --resume: the classes of the run are {}, those of the files now {}; resume with the files "
                  "of the run, or start a new run with another --out",
                  then.dump(), now.dump()));
}

void tell_of_processor(const nlohmann::json& notes) {
  if (notes.value("processor", processor_digest()) == processor_digest()) return;
  log::warn(
      "this processor computes other last bits than the one that wrote the checkpoint: the run goes on, and ends as "
      "it would have there but for rounding");
}

std::vector<job::FormerData> former_data(const RunFolder& folder, const nlohmann::json& files_now,
                                         int64_t global_step) {
  const auto before = folder.summary();
  if (!before || global_step == 0) return {};
  std::vector<job::FormerData> former = before->former_data.value_or(std::vector<job::FormerData>());
  const auto contents = [](const job::DataFiles& data) {
    std::map<std::string, std::vector<std::string>> all;
    for (const auto& [role, files] : data)
      for (const job::DataFile& file : files) all[role].push_back(file.fingerprint);
    return all;
  };
  if (contents(before->data) != contents(job::data_files_from(files_now)))
    former.push_back({global_step, before->data});
  return former;
}

}  // namespace linac::train
