#include "linac/train/train/state/checkpoint.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::train {

CheckpointStore::CheckpointStore(std::filesystem::path folder, int keep) : folder_(std::move(folder)), keep_(keep) {
  make_folder(folder_);
}

std::filesystem::path CheckpointStore::path_of(int64_t global_step) const {
  // Zero-padded, so that the order of names is the order of steps.
  return folder_ / fmt::format("step-{:010}.safetensors", global_step);
}

std::filesystem::path CheckpointStore::save(int64_t global_step, const Tell& tell,
                                            const std::function<void()>& synced) {
  const std::filesystem::path path = path_of(global_step);
  write_file_atomically(path, tell, synced);
  auto paths = list();
  for (size_t i = 0; i + static_cast<size_t>(keep_) < paths.size(); ++i) std::filesystem::remove(paths[i]);
  return path;
}

void CheckpointStore::mark_best(const Tell& tell, const std::function<void()>& synced) {
  write_file_atomically(trained::best_checkpoint(folder_), tell, synced);
}

void CheckpointStore::mark_restored(const Tell& tell, const std::function<void()>& synced) {
  write_file_atomically(trained::restored_checkpoint(folder_), tell, synced);
}

void CheckpointStore::mark(const std::filesystem::path& chosen, const std::filesystem::path& checkpoint) {
  write_file_atomically(chosen, read_file(checkpoint));
}

bool CheckpointStore::has_until(int64_t global_step) const {
  const auto paths = list();
  return !paths.empty() && paths.front() <= path_of(global_step);
}

void CheckpointStore::set_aside_behind(int64_t global_step, const std::string& why) {
  for (const auto& path : list()) {
    if (path <= path_of(global_step)) continue;
    log::warn(fmt::format("{}: {}; it is kept as {}.doubtful", path.string(), why, path.filename().string()));
    std::filesystem::rename(path, path.string() + ".doubtful");
  }
}

void CheckpointStore::remove_remains() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().filename().string().find(".safetensors.tmp.") != std::string::npos)
      std::filesystem::remove(entry.path(), ignored);
  }
}

std::vector<std::filesystem::path> CheckpointStore::list() const {
  return trained::list_checkpoints(folder_);
}

std::optional<CheckpointStore::Loaded> CheckpointStore::newest_good(const std::function<void(const Loaded&)>& accept) {
  const auto paths = list();
  std::vector<std::pair<std::filesystem::path, Error>> refused;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    try {
      Loaded loaded{*path, read_file(*path)};
      accept(loaded);
      for (const auto& [file, error] : refused) set_aside(file, error.what());
      return loaded;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData && error.code() != ErrorCode::kEnvironment) throw;
      refused.emplace_back(*path, error);
    }
  }
  if (refused.empty()) return std::nullopt;
  for (size_t i = 1; i < refused.size(); ++i) log::warn(refused[i].second.what());
  const Error& newest = refused.front().second;
  throw Error(newest.code(),
              fmt::format("[checkpoint] {}: nothing to resume from, none of its checkpoints can be read ({} of "
                          "them; the newest: {}); "
                          "to begin at the first step, start a new run with another --out",
                          folder_.string(), refused.size(), newest.what()));
}

void CheckpointStore::set_aside(const std::filesystem::path& path, const std::string& why) {
  log::warn(fmt::format("{}; it is kept as {}.damaged and the one before is tried", why, path.filename().string()));
  std::error_code ignored;
  std::filesystem::rename(path, path.string() + ".damaged", ignored);
}

}  // namespace linac::train
