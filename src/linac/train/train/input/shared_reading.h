#pragma once
// A training's share in what its workers read from stores (io/storage/neighbours/range_share.h).

#include <memory>

#include "linac/base/job/job.h"
#include "linac/io/storage/neighbours/range_share.h"
#include "linac/train/comm/group.h"

namespace linac::train {

class SharedReading {
 public:
  /// Shares what this process reads as long as it lives, where data.share says so and files of stores are read.
  SharedReading(const job::Job& job, comm::Group& group);
  /// Says where the bytes came from.
  ~SharedReading();
  SharedReading(const SharedReading&) = delete;
  SharedReading& operator=(const SharedReading&) = delete;

  /// All members of the view have their files. Where none is opened again later, what was kept for them goes.
  void all_have_opened();

 private:
  const bool opens_later_;  // in windows
  std::shared_ptr<storage::RangeShare> share_;
};

}  // namespace linac::train
