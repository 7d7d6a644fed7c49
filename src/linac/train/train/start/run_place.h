#pragma once
// Where a run's folder lies, by its path or at a URL: decided once, from --out. A run at a URL (s3://) is worked on in
// a folder of this host's cache, and record/run_mirror.h brings what is new of it there meanwhile; nobody else in
// `train` asks which of the two it is. Used by one thread.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "linac/base/job/job.h"
#include "linac/train/train/record/run_mirror.h"

namespace linac::train {

class RunPlace {
 public:
  /// `out`: a path or a URL. Empty: runs/NAME-20260131-140509, by `resume` the newest run of that name.
  static RunPlace of(const std::string& out, const job::Job& job, bool resume);
  /// A folder that somebody else has made, and keeps at this URL, if at any.
  RunPlace(std::filesystem::path folder, std::string kept_at);

  /// Of this host, where it is worked on.
  const std::filesystem::path& folder() const { return folder_; }
  /// Where it is kept; empty: in its folder alone.
  const std::string& url() const { return url_; }
  /// What people call it.
  std::string name() const { return url_.empty() ? folder_.string() : url_; }

  // By one process of the run, in this order; of a folder without a URL claim() and keep() do nothing of their own.

  /// Errors as RunMirror's constructor. User error for `take_over` where nothing can be taken over.
  void claim(bool resume, bool take_over);
  /// Makes the folder what the run goes on from, and writes its job.yaml. `branch`: the folder of the run that a new
  /// one goes on from, or empty. User error if it holds a run that is not to be resumed, or one with other mathematics.
  void make(const job::Job& job, const std::string& branch, bool resume);
  /// What `train` has written is at the store when this returns its status. Its own error, or status, comes before the
  /// error of the store, but for a run that another process has taken over.
  int keep(const std::function<int()>& train);

 private:
  std::filesystem::path folder_;
  std::string url_;
  std::unique_ptr<RunMirror> mirror_;  // once claimed
};

}  // namespace linac::train
