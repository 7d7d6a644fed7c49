#include "linac/train/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"

namespace linac::train {
namespace {

nlohmann::json without_nonfinite(const nlohmann::json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::isfinite(number)) return value;
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }
  if (!value.is_structured()) return value;
  nlohmann::json result = value;
  for (auto& item : result) item = without_nonfinite(item);
  return result;
}

bool belongs_before(const nlohmann::json& json, int64_t global_step, int64_t epoch) {
  const std::string kind = json.value("kind", "");
  if (kind == "view" || kind == "workers" || kind == "end") return true;  // speaks of the workers, not of the training
  if (kind == "step") return json.value("global_step", int64_t{0}) <= global_step;
  return json.value("epoch", int64_t{0}) < epoch;
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path root) : root_(std::move(root)) {}

bool RunFolder::holds_run() const {
  return std::filesystem::exists(root_ / "job.yaml");
}

void RunFolder::create(const spec::Job& job) {
  for (const auto& folder : {checkpoints(), tensorboard(), images(), models()}) make_folder(folder);
  write_file_atomically(root_ / "job.yaml", spec::to_yaml(job));
}

spec::Job RunFolder::job() const {
  if (!holds_run()) throw user_error(fmt::format("[run] {}: not the folder of a run (no job.yaml)", root_.string()));
  return spec::read_job((root_ / "job.yaml").string(), {});
}

void RunFolder::add_metrics(const nlohmann::json& line) {
  if (!metrics_.is_open()) metrics_.open(metrics(), std::ios::app);
  metrics_ << without_nonfinite(line).dump() << '\n' << std::flush;
  if (!metrics_)
    throw environment_error(fmt::format("[run] {}: cannot be written; is the disk full?", metrics().string()));
}

RunFolder::Written RunFolder::cut_metrics(int64_t global_step, int64_t epoch) {
  Written written;
  if (!std::filesystem::exists(metrics())) return written;
  std::istringstream lines(read_file(metrics()));
  std::string kept, line;
  while (std::getline(lines, line)) {
    // A line that was cut off by a kill is not JSON and is dropped as well.
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !belongs_before(json, global_step, epoch)) continue;
    kept += line + '\n';
    const std::string kind = json.value("kind", "");
    if (kind == "step") written.step = std::max(written.step, json.value("global_step", int64_t{-1}));
    if (kind == "epoch") written.epoch = std::max(written.epoch, json.value("epoch", int64_t{-1}));
  }
  metrics_.close();
  write_file_atomically(metrics(), kept);
  return written;
}

void RunFolder::write_run_json(const nlohmann::json& content) {
  write_file_atomically(root_ / "run.json", without_nonfinite(content).dump(2) + "\n");
}

}  // namespace linac::train
