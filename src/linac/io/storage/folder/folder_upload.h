#pragma once
// What is new in a folder of this host, on its way to a store: one pass after another, each of which ends with a
// manifest (manifest.h). One thread, but for progress(). Only one process at a time does this for a URL (claim.h).
//
// A pass opens a file, sends what is there, reads it back, and compares: the training may write, replace and remove
// files meanwhile. Snapshots come first, from the newest on; then files that change, so that these are never older than
// a snapshot beside them.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/io/storage/folder/manifest.h"

namespace linac::storage {

/// Which files of a folder belong to it, by their names below it.
struct FolderRules {
  /// What it does not name never leaves this host.
  std::function<bool(std::string_view name)> wanted;
  /// Files of the folder `snapshots` that are whole when they appear and do not change then; of two the later one has
  /// the larger name.
  std::string snapshots;
  std::function<bool(std::string_view name)> is_snapshot;
};

class FolderUpload {
 public:
  /// `known`: the manifest that is there. `copy`: names the folder of this host, see Manifest. `may_write`: throws a
  /// user error if this process may write no more (claim.h); asked before each manifest.
  FolderUpload(std::string url, std::filesystem::path folder, FolderRules rules, std::string copy,
               std::optional<ReadManifest> known, std::function<void()> may_write);

  enum class Pass {
    kQuick,  // large files that change wait for the next snapshot
    kAll,
    kLast,  // all, and each under its own name: the folder can be read without a manifest
  };
  /// Throws what the store and `may_write` throw; data error if a file reads back other than it was sent. What was sent
  /// stays known.
  void send(Pass pass);
  /// Whether there is a snapshot that was not sent.
  bool has_new_snapshot() const;

  struct Progress {
    int64_t files = 0, sent = 0;  // of this pass
  };
  Progress progress() const { return {to_send_, sent_now_}; }

 private:
  struct State {
    uint64_t device = 0, inode = 0;
    int64_t size = -1, changed_ns = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Found {
    std::string name;
    State state;
    bool snapshot = false;
    Descriptor file{};
  };

  /// The later one first.
  std::vector<Found> look_at_snapshots() const;
  std::vector<Found> look() const;
  static State state_of(const std::filesystem::path& path);
  static State state_of(const Descriptor& file);
  bool is_known(const Found& found) const;
  std::optional<ManifestFile> send_file(Found& found, Pass pass);
  ManifestFile upload(const Found& found, Pass pass);
  std::string object_for(const Found& found, Pass pass);
  bool send_once(Pass pass);
  bool write(Manifest next);
  void remove_remains();
  void remove_leaving(Pass pass);

  const std::string url_;
  const std::filesystem::path folder_;
  const FolderRules rules_;
  const std::function<void()> may_write_;
  const std::string session_;
  Manifest manifest_;                                // at the store
  std::string version_;                              // of it; empty: there is none
  std::map<std::string, State, std::less<>> known_;  // of the files that the manifest names
  std::map<std::string, double> leaving_since_;      // objects, by a steady clock
  int64_t objects_ = 0;
  bool swept_ = false, announced_ = false;
  std::atomic<int64_t> to_send_ = 0, sent_now_ = 0;
};

}  // namespace linac::storage
