#include "linac/train/train/start/run_place.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/train/train/record/record_fence.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/start/run_before.h"

namespace linac::train {
namespace {

std::filesystem::path default_folder(const job::Job& job, Start start) {
  const std::filesystem::path runs = "runs";
  std::filesystem::path newest;
  if (start != Start::kFresh && std::filesystem::is_directory(runs)) {
    for (const auto& entry : std::filesystem::directory_iterator(runs)) {
      if (entry.path().filename().string().starts_with(job.name + "-")) newest = std::max(newest, entry.path());
    }
  }
  return newest.empty() ? runs / fmt::format("{}-{:%Y%m%d-%H%M%S}", job.name, fmt::localtime(std::time(nullptr)))
                        : newest;
}

}  // namespace

RunPlace::RunPlace(std::filesystem::path folder, std::string kept_at)
    : folder_(std::move(folder)), url_(std::move(kept_at)) {}

RunPlace RunPlace::of(const std::string& out, const job::Job& job, Start start) {
  if (storage::scheme_of(out)) return {mirrored_folder(out), out};
  return {out.empty() ? default_folder(job, start) : std::filesystem::path(out), ""};
}

void RunPlace::claim(Start start, bool take_over) {
  take_over_ = take_over ? storage::TakeOver::kAtOnce : storage::TakeOver::kIfLeft;
  if (!url_.empty()) {
    mirror_ = std::make_unique<RunMirror>(url_, start, take_over_);
  } else if (std::filesystem::exists(folder_)) {
    claim_folder();
  }
}

void RunPlace::claim_folder() {
  claim_ = std::make_unique<storage::LocalClaim>(folder_, take_over_);
  // The training saves a checkpoint, which does not count any more, and ends.
  claim_->on_loss([] { ::kill(::getpid(), SIGTERM); });
}

void RunPlace::share_with_children() const {
  if (claim_) claim_->share_with_children();
}

void RunPlace::make(const job::Job& job, const std::string& branch, Start start) {
  if (mirror_) mirror_->bring();
  RunFolder folder(folder_);
  const bool branches = !branch.empty() && !folder.holds_run();  // into one that holds a run is refused below
  const BranchFiles begin = branches ? files_of_branch(job, branch) : BranchFiles();
  if (start == Start::kResume) need_place_for(start, folder.holds_run(), name());
  if (!mirror_ && !claim_) claim_folder();  // what is refused leaves no folder
  need_place_for(start, folder.holds_run(), name());
  if (folder.holds_run()) need_same_numerics(job, folder.job(), name());
  if (branches) begin_branch(begin, folder_);
  folder.create(job);
  std::filesystem::remove_all(folder.views());  // of workers that are no more
  remove_writers_marks(folder_);
  if (mirror_) mirror_->start();
}

int RunPlace::keep(const std::function<int()>& train) {
  std::exception_ptr failure;
  int status = 0;
  try {
    status = train();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool well = !failure && status == 0;
  try {
    if (mirror_) mirror_->finish(well);
    if (claim_) claim_->check();
  } catch (const Error& error) {
    if (well || error.code() == ErrorCode::kUser) throw;
    log::error(error.what());
  }
  if (failure) std::rethrow_exception(failure);
  return status;
}

}  // namespace linac::train
