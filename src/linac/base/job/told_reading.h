#pragma once
// Part of the record (run_record.h): where the bytes came from that a worker read of stores' files. Pure.

#include <cstdint>

#include "linac/base/job/record_fields.h"

namespace linac::job {

struct ToldReading {
  static constexpr const char* kName = "ToldReading";
  int64_t store_bytes = 0, worker_bytes = 0, given_bytes = 0, failed = 0;

  template <class V>
  static void fields(V&& v) {
    v({"store_bytes", "bytes", "from stores, for itself and for others", Need::kNeeded}, &ToldReading::store_bytes);
    v({"worker_bytes", "bytes", "from other workers", Need::kNeeded}, &ToldReading::worker_bytes);
    v({"given_bytes", "bytes", "to other workers", Need::kNeeded}, &ToldReading::given_bytes);
    v({"failed", "", "ranges that others did not give, or damaged; the store gave them", Need::kNeeded},
      &ToldReading::failed);
  }

  ToldReading& operator+=(const ToldReading& other) {
    store_bytes += other.store_bytes;
    worker_bytes += other.worker_bytes;
    given_bytes += other.given_bytes;
    failed += other.failed;
    return *this;
  }
};

}  // namespace linac::job
