#pragma once
// The views of a run, written down in a folder that its processes share: each view has one successor, and whoever comes
// second to write one learns which. Safe between processes, also on NFS (a file appears by link(2), whole or not at
// all).

#include <filesystem>
#include <string>
#include <vector>

#include "linac/train/comm/membership/view.h"

namespace linac::comm {

class ViewLedger {
 public:
  /// `run`: tells the runs apart that have used the folder. Letters and digits.
  ViewLedger(std::filesystem::path folder, std::string run) : folder_(std::move(folder)), run_(std::move(run)) {}

  /// Writes that `next` follows view `number`, and returns the view that does. Environment error if the folder cannot
  /// be used.
  View note(int64_t number, const View& next) const;

  /// What tells the folder from others, the same for all processes that share it; empty if it cannot be written.
  std::string folder_mark() const;

  /// A name for the run that begins now: later ones in `folder` come after earlier ones.
  static std::string next_run(const std::filesystem::path& folder);
  /// The join addresses ("RUN@10.0.0.3:41233") of the members of the last view of the latest run in `folder`; none if
  /// there is none. By their numbers: clocks of hosts and disks differ, and are set back.
  static std::vector<std::string> join_addresses(const std::filesystem::path& folder);

 private:
  std::filesystem::path folder_;
  std::string run_;
};

}  // namespace linac::comm
