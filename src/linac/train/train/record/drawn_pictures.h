#pragma once
// Pictures on their way from the thread that draws them to the one that writes the curves. Thread-safe.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::train {

struct DrawnPicture {
  std::string tag;  // in TensorBoard
  int64_t global_step = 0;
  plot::Picture picture;
};

class DrawnPictures {
 public:
  void add(DrawnPicture picture) {
    const std::lock_guard lock(mutex_);
    pictures_.push_back(std::move(picture));
  }
  /// Those that have come since the last call.
  std::vector<DrawnPicture> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(pictures_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<DrawnPicture> pictures_;
};

}  // namespace linac::train
