#pragma once
// The checkpoints of a run: atomic, checksummed, the newest K and the best. One process uses a store at a time (the
// run's rank 0), and one thread.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/piece_of_work.h"

namespace linac::train {

class CheckpointStore {
 public:
  /// `keep`: how many of the newest stay. Makes the folder.
  CheckpointStore(std::filesystem::path folder, int keep);

  /// Hands the bytes of a checkpoint over in pieces. What it throws ends the writing.
  using Tell = std::function<void(const TakePiece&)>;
  /// Writes step-<global_step>.safetensors, removes those beyond `keep`. Throws an environment error; older checkpoints
  /// stay then. `synced`: see write_file_atomically().
  std::filesystem::path save(int64_t global_step, const Tell& tell,
                             const std::function<void()>& synced = piece_is_done);
  /// Writes the best one: best.safetensors, which pruning leaves alone.
  void mark_best(const Tell& tell, const std::function<void()>& synced = piece_is_done);
  /// Likewise the one that is handed over: trained::restored_checkpoint().
  void mark_restored(const Tell& tell, const std::function<void()>& synced = piece_is_done);
  /// One of these, by its path, with the bytes of a checkpoint of the folder.
  void mark(const std::filesystem::path& chosen, const std::filesystem::path& checkpoint);
  /// Whether there is one of this step or an earlier one.
  bool has_until(int64_t global_step) const;
  /// Renames those of later steps to *.doubtful, and says why in the log.
  void set_aside_behind(int64_t global_step, const std::string& why);
  /// Removes what was half written when its writer was killed. While nobody else writes there.
  void remove_remains();

  struct Loaded {
    std::filesystem::path path;
    std::string bytes;
  };
  /// The newest checkpoint that `accept` takes without a data error. Newer ones are then reported in the log with the
  /// reason and renamed to *.damaged. Nothing if there are no checkpoints; if all are refused, the error of the newest,
  /// and the files stay as they are.
  std::optional<Loaded> newest_good(const std::function<void(const Loaded&)>& accept);

  /// Paths from oldest to newest.
  std::vector<std::filesystem::path> list() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(int64_t global_step) const;
  void set_aside(const std::filesystem::path& path, const std::string& why);

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace linac::train
