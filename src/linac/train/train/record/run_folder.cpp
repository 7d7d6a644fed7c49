#include "linac/train/train/record/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/job/step_gaps.h"

namespace linac::train {
namespace {

std::string read_from(const std::filesystem::path& path, uint64_t begin) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw environment_error(fmt::format("[run] {}: cannot be read", path.string()));
  return std::move(content).str();
}

// What becomes of the end of metrics.jsonl.
struct CutTail {
  uint64_t kept = 0;  // bytes of the file that stay as they are
  std::string rest;   // behind them
  RunFolder::Written written;
};

// `text` begins at byte `begin` of the file, in the midst of a line unless that is the first one.
CutTail cut(std::string_view text, uint64_t begin, const std::string& where, int64_t global_step, int64_t epoch) {
  const job::LineReader reader(where, job::Wanted::kNoStepMeasures);
  CutTail tail;
  size_t at = begin == 0 ? 0 : std::min(text.find('\n'), text.size() - 1) + 1;
  tail.kept = begin + at;
  bool whole = true;  // up to here all lines stay as they are
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    const std::string_view one = text.substr(at, end - at);
    at = end == std::string_view::npos ? text.size() : end + 1;
    // A line that was cut off by a kill is not JSON and is dropped as well.
    const auto [state, line] = reader.read(one);
    const bool stands = state != job::LineState::kNone && job::stands_before(line, global_step, epoch);
    whole = whole && stands && end != std::string_view::npos;
    if (whole) tail.kept = begin + at;
    if (!stands) continue;
    if (!whole) tail.rest.append(one).append("\n");
    if (const auto* step = std::get_if<job::StepLine>(&line))
      tail.written.step = std::max(tail.written.step, step->global_step);
    if (const auto* ended = std::get_if<job::EpochLine>(&line))
      tail.written.epoch = std::max(tail.written.epoch, ended->epoch);
  }
  return tail;
}

// The run beside it whose name is nearest, if one is near.
std::string near_run(const std::filesystem::path& folder) {
  std::vector<std::string> runs;
  std::error_code none;
  const auto parent = folder.has_parent_path() ? folder.parent_path() : std::filesystem::path(".");
  for (const auto& entry : std::filesystem::directory_iterator(parent, none))
    if (std::filesystem::exists(entry.path() / "job.yaml", none)) runs.push_back(entry.path().filename().string());
  const auto found = nearest(folder.filename().string(), runs);
  return found ? fmt::format("; did you mean {}?", (folder.parent_path() / *found).string()) : "";
}

}  // namespace

void need_place_for(Start start, bool is_there, const std::string& name) {
  if (is_there && start == Start::kFresh)
    throw user_error(
        fmt::format("[train] {} already holds a run; add --resume to go on with it or choose another --out", name));
  if (!is_there && start == Start::kResume)
    throw user_error(
        fmt::format("[train] --resume: there is no run in {}{}; leave --resume out to begin one, or take "
                    "--resume-or-start in a script that runs again",
                    name, near_run(name)));
}

RunFolder::RunFolder(std::filesystem::path root, std::filesystem::path started_in, std::string name)
    : root_(std::move(root)),
      started_in_(std::move(started_in)),
      name_(name == root_.string() ? "" : std::move(name)) {}

std::string RunFolder::shown(const std::filesystem::path& path) const {
  if (name_.empty()) return path.string();
  const std::string inner = path.lexically_relative(root_).generic_string();
  return inner == "." ? name_ : name_ + "/" + inner;
}

bool RunFolder::holds_run() const {
  return std::filesystem::exists(root_ / "job.yaml");
}

void RunFolder::create(const job::Job& job) {
  for (const auto& folder : {checkpoints(), tensorboard(), images(), models()}) make_folder(folder);
  write_file_atomically(root_ / "job.yaml", job::to_yaml(job));
}

job::Job RunFolder::job() const {
  if (!holds_run()) throw user_error(fmt::format("[run] {}: not the folder of a run (no job.yaml)", root_.string()));
  const std::string path = (root_ / "job.yaml").string();
  return job::parse_job(read_file(path), path, {});  // resolved: its paths are no longer relative to the file
}

void RunFolder::add_metrics(const job::RunLine& line) {
  if (!metrics_.is_open()) {
    metrics_.open(metrics(), std::ios::app);
    try {
      if (check_) check_();
    } catch (...) {
      metrics_.close();
      throw;
    }
  }
  metrics_ << job::to_text(line) << '\n' << std::flush;
  if (!metrics_)
    throw environment_error(fmt::format("[run] {}: cannot be written; is the disk full?", metrics().string()));
}

RunFolder::Written RunFolder::cut_metrics(int64_t global_step, int64_t epoch) {
  constexpr uint64_t kFirstLook = 256 << 10;
  if (!std::filesystem::exists(metrics())) {
    write_file_atomically(metrics(), std::string_view());
    return {};
  }
  summary();  // its version: the last start of the run wrote it; its lines may lie further back than is looked
  metrics_.close();
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(metrics(), error);
  if (error) throw environment_error(fmt::format("[run] {}: cannot be read ({})", metrics().string(), error.message()));
  for (uint64_t look = kFirstLook;; look *= 4) {
    const uint64_t begin = look < size ? size - look : 0;
    const CutTail tail = cut(read_from(metrics(), begin), begin, metrics().string(), global_step, epoch);
    if (begin > 0 && (tail.written.step < 0 || tail.written.epoch < 0)) continue;
    write_end_of_file_atomically(metrics(), tail.kept, tail.rest);
    return tail.written;
  }
}

std::vector<job::GapLine> RunFolder::missing_steps(int64_t global_step) const {
  std::ifstream file(metrics(), std::ios::binary);
  const job::LineReader reader(metrics().string(), job::Wanted::kNoStepMeasures);
  int64_t begin = 0;
  std::vector<int64_t> there;
  std::string text;
  for (bool is_first = true; std::getline(file, text); is_first = false) {
    piece_is_done();
    if (const auto step = job::step_of_plain_line(text)) {
      there.push_back(*step);
      continue;
    }
    const auto [state, line] = reader.read(text);
    if (state != job::LineState::kWhole) continue;
    const auto* view = std::get_if<job::ViewLine>(&line);
    if (view != nullptr && is_first) begin = view->global_step;
    if (const auto* step = std::get_if<job::StepLine>(&line)) there.push_back(step->global_step);
    if (const auto* gap = std::get_if<job::GapLine>(&line))
      for (int64_t step = std::max<int64_t>(1, gap->first); step <= std::min(gap->last, global_step); ++step)
        there.push_back(step);
  }
  return job::gaps_between(begin, global_step, std::move(there));
}

job::ToldEnergies RunFolder::told_energies() const {
  std::ifstream file(metrics(), std::ios::binary);
  const job::LineReader reader(metrics().string(), job::Wanted::kNoStepMeasures);
  job::ToldEnergies all;
  for (std::string text; std::getline(file, text);) {
    piece_is_done();
    if (text.find("\"energy\"") == std::string::npos) continue;
    const auto line = reader.read(text).line;
    if (const auto* workers = std::get_if<job::WorkersLine>(&line)) all.add(workers->workers);
    if (const auto* end = std::get_if<job::EndLine>(&line)) all.add(end->workers);
  }
  return all;
}

void RunFolder::write_run_json(job::RunSummary summary) const {
  summary.folder = started_in_.string();
  write_file_atomically(root_ / job::kSummaryFile, job::to_text(summary));
}

std::optional<job::RunSummary> RunFolder::summary() const {
  const std::filesystem::path path = root_ / job::kSummaryFile;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return job::read_summary(read_file(path), path.string());
}

}  // namespace linac::train
