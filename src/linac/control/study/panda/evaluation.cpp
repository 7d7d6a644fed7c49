#include "linac/control/study/panda/evaluation.h"
#include "linac/base/base/python_json.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/signals.h"
#include "linac/base/job/job.h"
#include "linac/control/study/trial_process.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr int kInterrupted = 75;
constexpr const char *kInput = "input.json", *kData = "input_ds.json", *kOutput = "output.json",
                     *kMeta = "metadata.json";
constexpr const char* kFolder = "evaluation";

json read_json(const char* file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none))
    throw user_error(fmt::format("[study] {}: is no file here; PanDA's evaluation leaves it", file));
  const json value = json::parse(plain_json(read_file(file)), nullptr, false);
  if (value.is_discarded()) throw user_error(fmt::format("[study] {}: is no JSON", file));
  return value;
}

/// The job with the files that PanDA has brought; of a command they stay in input_ds.json.
void take_data(Study& study) {
  std::error_code none;
  if (study.job.empty() || !fs::exists(kData, none)) return;
  const json files = read_json(kData);
  if (!files.is_array() || files.empty()) return;
  json paths = json::array();
  for (const json& file : files) {
    if (!file.is_string()) throw user_error(fmt::format("[study] {}: is no list of files", kData));
    const std::string name = file.get<std::string>();
    paths.push_back(name.find("://") != std::string::npos ? name : fs::absolute(name).lexically_normal().string());
  }
  study.job = job::to_yaml(job::parse_job(study.job, "the study's job", {"data.train=" + paths.dump()}));
}

/// One folder: what is of another point goes, as PanDA takes all of it with each job.
fs::path prepared(const Study& study, const json& point) {
  const std::string name = fmt::format("{:016x}", fnv1a_64(study.job + study.command() + point.dump()));
  const fs::path folder = fs::absolute(kFolder) / name;
  std::error_code none;
  if (fs::is_directory(kFolder, none))
    for (const auto& entry : fs::directory_iterator(kFolder))
      if (entry.path().filename() != name) fs::remove_all(entry.path());
  make_folder(folder / "trials");
  write_file_atomically(folder / "job.yaml", study.job);
  if (!study.command().empty()) {
    make_folder(folder / "trials" / "0001");
    std::error_code error;
    if (fs::exists(kData, none))
      fs::copy_file(kData, folder / "trials" / "0001" / kData, fs::copy_options::overwrite_existing, error);
    if (error) throw environment_error(fmt::format("[study] {}: cannot be copied ({})", kData, error.message()));
  }
  return folder;
}

json outcome_of(const Study& study, const TrialProcess& process, int status) {
  std::string why;
  std::vector<double> values;
  if (status != 0)
    why = fmt::format("exit status {}: {}", status, process.last_words());
  else if (study.command().empty())
    values = process.values_of_epoch();
  else
    values = process.values_of_command(why);
  if (values.empty()) return {{"status", 1}, {"message", why.empty() ? "no epoch was measured" : why}};
  const double loss = tune::loss_of(study.directions().front(), values.front());
  if (!std::isfinite(loss)) return {{"status", 1}, {"message", fmt::format("the loss is {}", loss)}};
  return {{"status", 0}, {"loss", loss}, {"message", ""}};
}

}  // namespace

int evaluate(Study study, const fs::path& program) {
  if (study.job.empty() && study.command().empty())
    throw user_error("[study] the file has neither a job nor objective.command, so there is nothing to evaluate");
  const json given = read_json(kInput);
  const tune::Space space = study.space();
  tune::Trial trial;
  trial.number = 1;
  trial.point = tune::suggestible_point_from_json(space, given);
  take_data(study);
  const fs::path folder = prepared(study, given);
  TrialProcess process(study, space, trial, folder / "trials", program);
  bool asked = false;
  std::optional<int> status;
  while (!(status = process.ended())) {
    if (stop_signal() != 0 && !asked) {
      process.stop();
      asked = true;
    }
    process.measured();  // that it reports what decides is known early
    std::this_thread::sleep_for(kPause);
  }
  if (asked && *status != 0) return kInterrupted;
  const json outcome = outcome_of(study, process, *status);
  write_file_atomically(kMeta, json{{"point", given}, {"outcome", outcome}}.dump() + "\n");
  write_file_atomically(kOutput, outcome.dump() + "\n");
  return 0;
}

}  // namespace linac::study
