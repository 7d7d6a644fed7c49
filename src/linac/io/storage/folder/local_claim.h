#pragma once
// Who works in a folder of this host's file systems: one process at a time, as claim.h has it at a store. The claim is
// a lock of the file kLocalClaimName in it (base/base/sole_lock.h), which ends with the process that holds it, on
// whatever host; the file says who that is. Who takes a folder over puts a file of its own in the place of that one: so
// whoever had it finds out, when it looks. The file stays when the claim ends, so that one who slept through all of
// that finds out as well.
//
// A file system without locks makes two that begin possible: the claim says so.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "linac/base/base/descriptor.h"
#include "linac/io/storage/folder/claim_holder.h"

namespace linac::storage {

inline constexpr const char* kLocalClaimName = ".linac-claim";

class LocalClaim {
 public:
  static constexpr std::chrono::milliseconds kNoThread{0};
  /// Of `folder`, which is made if it is not there. User error if another process has it: it is waited for a little,
  /// and for the children of one that was killed until they have ended. `token`: of several processes that share the
  /// claim; empty: a new one. `look`: how often a thread looks whether another process has taken it over.
  LocalClaim(std::filesystem::path folder, TakeOver take_over, const std::string& token = {},
             std::chrono::milliseconds look = std::chrono::seconds(2));
  ~LocalClaim();
  LocalClaim(const LocalClaim&) = delete;
  LocalClaim& operator=(const LocalClaim&) = delete;

  const std::string& token() const { return self_.token; }
  /// The children that are started from here on hold the claim as well: it ends with the last of all.
  void share_with_children() const;
  /// Called once by the claim's thread, when another process has taken the folder over.
  void on_loss(std::function<void()> act);
  /// User error if another process has taken the folder over. Looks at the file. Thread-safe.
  void check() const;

 private:
  void take(TakeOver take_over);
  bool wait_for(const Descriptor& there, TakeOver take_over) const;
  void put_own();
  void keep();

  const std::filesystem::path folder_;
  ClaimHolder self_;
  const std::chrono::milliseconds look_;
  Descriptor file_;  // locked
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::function<void()> on_loss_;
  std::thread thread_;
};

/// The claim of the folder, whether its holder lives or not; without a token if there is none.
ClaimHolder local_claim_of(const std::filesystem::path& folder);
/// Locks the claim of the folder, if it has this token and nobody has it: so it stays claimed after its holder's end.
Descriptor hold_local_claim(const std::filesystem::path& folder, const std::string& token);

}  // namespace linac::storage
