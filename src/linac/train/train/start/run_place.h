#pragma once
// Where a run's folder lies, by its path or at a URL: decided once, from --out. A run at a URL (s3://) is worked on in
// a folder of this host's cache, and record/run_mirror.h brings what is new of it there meanwhile; nobody else in
// `train` asks which of the two it is. Used by one thread.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "linac/base/job/job.h"
#include "linac/io/storage/folder/local_claim.h"
#include "linac/train/train/record/run_mirror.h"

namespace linac::train {

class RunPlace {
 public:
  /// `out`: a path or a URL. Empty: runs/NAME-20260131-140509, or unless the run begins the newest run of that name.
  static RunPlace of(const std::string& out, const job::Job& job, Start start);
  /// A folder that somebody else has made, and keeps at this URL, if at any.
  RunPlace(std::filesystem::path folder, std::string kept_at);

  /// Of this host, where it is worked on.
  const std::filesystem::path& folder() const { return folder_; }
  /// Where it is kept; empty: in its folder alone.
  const std::string& url() const { return url_; }
  /// What people call it.
  std::string name() const { return url_.empty() ? folder_.string() : url_; }

  // By one process of the run, in this order.

  /// Errors as RunMirror's and LocalClaim's constructors. A folder that is not there yet is claimed by make(), so that
  /// a job which cannot run leaves none.
  void claim(Start start, bool take_over);
  /// Makes the folder what the run goes on from, and writes its job.yaml. `branch`: the folder of the run that a new
  /// one goes on from, or empty. User error if the run may not begin there so (need_place_for()), or has other
  /// mathematics.
  void make(const job::Job& job, const std::string& branch, Start start);
  /// What `train` has written is at the store when this returns its status. Its own error, or status, comes before the
  /// error of the store, but for a run that another process has taken over.
  int keep(const std::function<int()>& train);

  /// The token of the folder's claim, which its workers share (record/record_fence.h); empty for one at a URL, whose
  /// folder the first of them claims.
  std::string token() const { return claim_ ? claim_->token() : std::string(); }
  /// The workers that are started from here on hold the claim as well.
  void share_with_children() const;

 private:
  void claim_folder();

  std::filesystem::path folder_;
  std::string url_;
  std::unique_ptr<RunMirror> mirror_;           // once claimed
  std::unique_ptr<storage::LocalClaim> claim_;  // likewise, where there is no mirror
  storage::TakeOver take_over_ = storage::TakeOver::kIfLeft;
};

}  // namespace linac::train
