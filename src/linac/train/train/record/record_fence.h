#pragma once
// Who writes the record of a run in a folder: one worker in each view (record_copy.h). Each view that has a writer
// there leaves its mark in the folder, before that one writes anything; who finds the mark of a later view is late,
// whatever happened to it meanwhile: it was halted, cut off, or its machine slept. Then none of its files comes into
// its place any more (base/base/write_fence.h). The same if another process has claimed the folder
// (io/storage/folder/local_claim.h), for a start of its own. Thread-safe but for enter().

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/write_fence.h"
#include "linac/io/storage/folder/local_claim.h"

namespace linac::train {

class RecordFence {
 public:
  /// `claim`: its token, which all workers of the run share, where this or its parent process has claimed the folder.
  /// Empty: it becomes known by share().
  RecordFence(std::filesystem::path folder, std::string claim);

  const std::string& claim() const { return claim_; }
  /// Before the first enter().
  void share(const std::string& claim);

  enum class First { kNo, kYes };
  /// This worker writes from here on, in the view of this number. Whether another one has since this one did. `first`:
  /// it is new in the run: then nobody of the run may have claimed the folder yet, and it does. User error if another
  /// process has the folder; kPeerLost if the view is over; environment error if the folder was removed.
  bool enter(int64_t view, First first);
  /// User error if another process has claimed the folder, kPeerLost if a later view has a writer, environment error if
  /// the folder was removed under the run.
  void check() const;

  const WriteFence& files() const { return files_; }

 private:
  struct Marks {
    int64_t last = -1;          // the latest view of this run
    bool others_since = false;  // some between this one's last view and its present one
  };
  std::filesystem::path mark_of(int64_t view) const;
  void need_run() const;
  Marks look(int64_t since, int64_t now) const;
  void remove_marks_before(int64_t view) const;

  const std::filesystem::path folder_;
  const bool claimed_before_;
  std::string claim_;
  int64_t view_ = -1;         // its last one here
  mutable std::mutex mutex_;  // of the two above
  std::unique_ptr<storage::LocalClaim> own_;
  Descriptor held_;
  WriteFence files_;
};

/// What is said where a run finds its folder, as people call it, gone. `step`: that was done last, if it is known.
std::string removed_words(const std::string& folder, std::optional<int64_t> step = {});

/// Removes the marks that a run has left. By whoever has claimed the folder.
void remove_writers_marks(const std::filesystem::path& folder);

}  // namespace linac::train
