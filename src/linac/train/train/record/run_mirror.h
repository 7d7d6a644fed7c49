#pragma once
// A run whose folder lies at a store: it works in a folder of this host's cache, and what is new of that goes to the
// store meanwhile (io/storage/folder). Only one process keeps a run, by its claim; it may be the parent of the workers.
// What a resume needs, and what others read, is kept there: job, record, checkpoints, curves, pictures, models, scores,
// log. The workers' key and addresses are not.
//
// Used by one thread, in the order of the functions.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "linac/base/base/descriptor.h"
#include "linac/io/storage/folder/claim.h"
#include "linac/io/storage/folder/folder_mirror.h"
#include "linac/io/storage/folder/manifest.h"
#include "linac/train/train/record/run_folder.h"

namespace linac::train {

/// Which files of a run's folder are kept.
storage::FolderRules rules_of_run();

/// Where the run of this URL is worked on, on any host.
std::filesystem::path mirrored_folder(const std::string& url);

class RunMirror {
 public:
  /// Claims the run. User error if another process has it, if it may not begin there so (need_place_for()), or if the
  /// store cannot keep runs; what the store says if it cannot be reached or written.
  RunMirror(std::string url, Start start, storage::TakeOver take_over);
  /// What was not sent by then stays in the folder; a later resume on this host sends it.
  ~RunMirror();

  const std::string& url() const { return url_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Makes folder() what the run is at the store. Where it was written from this folder last, the folder stays as it
  /// is: it may have more. A fresh run gets an empty one.
  void bring();
  /// From here on what is new is sent. If another process takes the run over, this one is asked to stop (SIGTERM).
  void start();
  /// Waits until all is at the store; environment error if that cannot be. `complete`: the run has come to its end.
  /// Then all files get their own names there, and folder() goes.
  void finish(bool complete);

 private:
  const std::string url_;
  const std::filesystem::path folder_;
  const Start start_;
  Descriptor lock_;  // of the folder
  std::optional<storage::Claim> claim_;
  std::optional<storage::ReadManifest> known_;
  std::string copy_;  // see storage::Manifest
  std::unique_ptr<storage::FolderMirror> mirror_;
};

}  // namespace linac::train
