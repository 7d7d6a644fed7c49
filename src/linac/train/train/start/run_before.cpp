#include "linac/train/train/start/run_before.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/job/branch.h"
#include "linac/base/job/job_paths.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::train {
namespace {

// The same file has another relative path where the run is resumed from another folder.
void forget_folders(job::Job& then, job::Job now) {
  const std::vector<std::string*> old_files = job::files_of(then), new_files = job::files_of(now);
  if (old_files.size() != new_files.size()) return;
  for (size_t i = 0; i < old_files.size(); ++i)
    if (job::may_be_one_file(*old_files[i], *new_files[i])) *old_files[i] = *new_files[i];
}

}  // namespace

void need_same_numerics(const job::Job& now, job::Job then, const std::string& folder) {
  forget_folders(then, now);
  std::istringstream new_lines(job::to_yaml(job::without_free_settings(now))),
      old_lines(job::to_yaml(job::without_free_settings(std::move(then))));
  std::string new_line, old_line;
  while (std::getline(new_lines, new_line) && std::getline(old_lines, old_line)) {
    if (new_line == old_line) continue;
    const auto trim = [](const std::string& line) {
      return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
    };
    const bool rate = trim(old_line).starts_with("lr: ");
    throw user_error(fmt::format(
        "[train] --resume: the run in {} was made with '{}', the job now says '{}'; resume with the same job, or "
        "start a new run with another --out{}",
        folder, trim(old_line), trim(new_line),
        rate ? " (a rate that changes on the way is part of the job from its beginning: train.schedule.drops, decay or "
               "plateau; a new run goes on from this one with another rate by --branch; a 3dgan takes the weights of "
               "this run into a new one with model.from, a Keras model with "
               "model.file)"
             : ""));
  }
}

BranchFiles files_of_branch(const job::Job& job, const std::filesystem::path& from) {
  const RunFolder source(from);
  job::Job then = source.job();
  forget_folders(then, job);
  job::need_branch(then, job, fmt::format("[train] --branch {}", from.string()),
                   "start a new run without --branch, or with the other run's value");
  const auto checkpoints = trained::list_checkpoints(source.checkpoints());
  if (checkpoints.empty())
    throw user_error(fmt::format("[train] --branch {}: the run has no checkpoint yet", from.string()));
  const auto whole = [&](const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file))  // a pipe would never end
      throw user_error(fmt::format("[train] --branch {}: {} is no file", from.string(), file.string()));
    std::string bytes = read_file(file);
    weights::decode_tensors(bytes, file.string());  // or the new folder begins with what nobody can read
    return bytes;
  };
  std::vector<std::filesystem::path> files = trained::chosen_checkpoints(source.checkpoints());
  std::erase_if(files, [](const std::filesystem::path& file) { return !std::filesystem::exists(file); });
  files.push_back(checkpoints.back());
  BranchFiles all;
  for (const std::filesystem::path& file : files) all.emplace_back(file.filename(), whole(file));
  return all;
}

void begin_branch(const BranchFiles& files, const std::filesystem::path& to) {
  const std::filesystem::path folder = RunFolder(to).checkpoints();
  make_folder(folder);
  for (const auto& [name, bytes] : files) write_file_atomically(folder / name, bytes);
}

}  // namespace linac::train
