#pragma once
// Keeps a folder of this host at a store while somebody works in it: a thread sends what is new (folder_upload.h), at
// once where there is a new snapshot, and else every `interval`. Who works in the folder never waits for it, be it
// another process. A store that is away is tried again with growing waits, and said once.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "linac/io/storage/folder/folder_upload.h"

namespace linac::storage {

struct MirrorTimes {
  std::chrono::milliseconds interval{30'000};
  std::chrono::milliseconds look{250};          // for snapshots
  std::chrono::milliseconds first_wait{1'000};  // after a failure; doubled
  std::chrono::milliseconds wait_max{60'000};
  std::chrono::milliseconds patience{120'000};  // at the end, while nothing goes up
};

class FolderMirror {
 public:
  /// Begins at once. `on_loss`: called by the thread when another process has written to the URL; nothing is sent any
  /// more then.
  FolderMirror(std::string url, std::unique_ptr<FolderUpload> upload, std::function<void()> on_loss,
               MirrorTimes times = {});
  /// Ends after the file that is under way; what is not up stays in the folder.
  ~FolderMirror();
  FolderMirror(const FolderMirror&) = delete;
  FolderMirror& operator=(const FolderMirror&) = delete;

  /// Waits until all is up, with a progress line. Nobody may write into the folder any more. Throws what the store says
  /// in the end. `last`: FolderUpload::Pass::kLast follows.
  void finish(bool last);

 private:
  enum class Wish { kGoOn, kFinish, kFinishLast, kStop };
  void run();
  bool pass(FolderUpload::Pass pass);
  void finish_in_thread(bool last);
  bool wait(std::chrono::milliseconds time);
  std::chrono::milliseconds wait_after_failures() const;

  const std::string url_;
  const MirrorTimes times_;
  const std::function<void()> on_loss_;
  const std::unique_ptr<FolderUpload> upload_;  // of the thread, but for its progress
  int failures_ = 0;                            // of the thread: passes since the last one that went well

  std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  Wish wish_ = Wish::kGoOn;
  bool done_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace linac::storage
