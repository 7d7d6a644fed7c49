#include "linac/train/run_folder.h"

#include <fmt/format.h>

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

// A line that was cut off by a kill is not JSON and is dropped as well.
bool belongs_before(const std::string& line, int64_t global_step, int64_t epoch) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  if (json.value("kind", "") == "step") return json.value("global_step", int64_t{0}) <= global_step;
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

void RunFolder::cut_metrics(int64_t global_step, int64_t epoch) {
  if (!std::filesystem::exists(metrics())) return;
  std::istringstream lines(read_file(metrics()));
  std::string kept, line;
  while (std::getline(lines, line)) {
    if (belongs_before(line, global_step, epoch)) kept += line + '\n';
  }
  metrics_.close();
  write_file_atomically(metrics(), kept);
}

void RunFolder::write_run_json(const nlohmann::json& content) {
  write_file_atomically(root_ / "run.json", without_nonfinite(content).dump(2) + "\n");
}

}  // namespace linac::train
