#include "linac/train/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"

namespace linac::train {

RunFolder::RunFolder(std::filesystem::path root, std::filesystem::path started_in)
    : root_(std::move(root)), started_in_(std::move(started_in)) {}

bool RunFolder::holds_run() const {
  return std::filesystem::exists(root_ / "job.yaml");
}

void RunFolder::create(const spec::Job& job) {
  for (const auto& folder : {checkpoints(), tensorboard(), images(), models()}) make_folder(folder);
  write_file_atomically(root_ / "job.yaml", spec::to_yaml(job));
}

spec::Job RunFolder::job() const {
  if (!holds_run()) throw user_error(fmt::format("[run] {}: not the folder of a run (no job.yaml)", root_.string()));
  const std::string path = (root_ / "job.yaml").string();
  return spec::parse_job(read_file(path), path, {});  // resolved: its paths are no longer relative to the file
}

void RunFolder::add_metrics(const spec::RunLine& line) {
  if (!metrics_.is_open()) metrics_.open(metrics(), std::ios::app);
  metrics_ << spec::to_text(line) << '\n' << std::flush;
  if (!metrics_)
    throw environment_error(fmt::format("[run] {}: cannot be written; is the disk full?", metrics().string()));
}

RunFolder::Written RunFolder::cut_metrics(int64_t global_step, int64_t epoch) {
  Written written;
  if (!std::filesystem::exists(metrics())) return written;
  std::istringstream lines(read_file(metrics()));
  const spec::LineReader reader(metrics().string(), spec::Wanted::kNoStepMeasures);
  std::string kept, text;
  while (std::getline(lines, text)) {
    // A line that was cut off by a kill is not JSON and is dropped as well.
    const auto [state, line] = reader.read(text);
    if (state == spec::LineState::kNone || !spec::stands_before(line, global_step, epoch)) continue;
    kept += text + '\n';
    if (const auto* step = std::get_if<spec::StepLine>(&line)) written.step = std::max(written.step, step->global_step);
    if (const auto* one = std::get_if<spec::EpochLine>(&line)) written.epoch = std::max(written.epoch, one->epoch);
  }
  metrics_.close();
  write_file_atomically(metrics(), kept);
  return written;
}

void RunFolder::write_run_json(spec::RunSummary summary) {
  summary.folder = started_in_.string();
  write_file_atomically(root_ / spec::kSummaryFile, spec::to_text(summary));
}

}  // namespace linac::train
