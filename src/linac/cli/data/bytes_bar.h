#pragma once
// The progress of work that counts bytes.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "linac/base/base/bytes.h"
#include "linac/base/base/progress.h"

namespace linac::cli {

/// "LABEL ... 1.2 MiB of 3.4 MiB", from the first update on. Thread-safe.
class BytesBar {
 public:
  explicit BytesBar(std::string label, std::string (*shown)(int64_t bytes) = format_bytes)
      : label_(std::move(label)), shown_(shown) {}
  void update(int64_t done, int64_t all) {
    const std::scoped_lock lock(mutex_);
    if (!bar_) bar_ = std::make_unique<Progress>(label_, all);
    bar_->update(done, shown_(done) + " of " + shown_(all));
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    bar_.reset();
  }

 private:
  const std::string label_;
  std::string (*const shown_)(int64_t);
  std::mutex mutex_;
  std::unique_ptr<Progress> bar_;
};

}  // namespace linac::cli
