#include "linac/train/checkpoint.h"

#include <fmt/format.h>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/trained/checkpoint_files.h"

namespace linac::train {

CheckpointStore::CheckpointStore(std::filesystem::path folder, int keep) : folder_(std::move(folder)), keep_(keep) {
  make_folder(folder_);
}

std::filesystem::path CheckpointStore::save(int64_t global_step, const std::string& bytes) {
  // Zero-padded, so that the order of names is the order of steps.
  const std::filesystem::path path = folder_ / fmt::format("step-{:010}.safetensors", global_step);
  write_file_atomically(path, bytes);
  auto paths = list();
  for (size_t i = 0; i + static_cast<size_t>(keep_) < paths.size(); ++i) std::filesystem::remove(paths[i]);
  return path;
}

void CheckpointStore::mark_best(const std::string& bytes) {
  write_file_atomically(trained::best_checkpoint(folder_), bytes);
}

std::vector<std::filesystem::path> CheckpointStore::list() const {
  return trained::list_checkpoints(folder_);
}

std::optional<CheckpointStore::Loaded> CheckpointStore::newest_good(const std::function<void(const Loaded&)>& accept) {
  auto paths = list();
  for (; !paths.empty(); paths.pop_back()) {
    try {
      Loaded loaded{paths.back(), read_file(paths.back())};
      accept(loaded);
      return loaded;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData && error.code() != ErrorCode::kEnvironment) throw;
      set_aside(paths.back(), error.what());
    }
  }
  return std::nullopt;
}

void CheckpointStore::set_aside(const std::filesystem::path& path, const std::string& why) {
  log::warn(fmt::format("{}; it is kept as {}.damaged and the one before is tried", why, path.filename().string()));
  std::error_code ignored;
  std::filesystem::rename(path, path.string() + ".damaged", ignored);
}

}  // namespace linac::train
