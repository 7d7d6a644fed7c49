#include "linac/io/data/order/open_files.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

constexpr size_t kOpenFilesMax = 64;

}  // namespace

void OpenFiles::add(std::filesystem::path path, const ScannedFile& scanned) {
  entries_.push_back(
      {std::move(path), scanned.report.url, scanned.state, scanned.report.fingerprint, scanned.index, nullptr, 0});
}

std::shared_ptr<const ShowerFile> OpenFiles::get(size_t i) const {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(i);
  entry.last_use = ++uses_;
  if (entry.file) return entry.file;

  if (!storage::is_still(entry.path, entry.content, entry.state)) {
    throw data_error(
        fmt::format("[data] {}: the file has changed since it was checked; leave the files alone while they are used, "
                    "then start again",
                    entry.name));
  }
  if (open_ == kOpenFilesMax) {
    Entry* oldest = nullptr;
    for (Entry& other : entries_) {
      if (other.file && (oldest == nullptr || other.last_use < oldest->last_use)) oldest = &other;
    }
    oldest->file.reset();
    --open_;
  }
  entry.file = open_shower_file(entry.path, entry.name, fields_, entry.index);
  ++open_;
  return entry.file;
}

}  // namespace linac::data
