#include "linac/train/train/input/shared_reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/bytes.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/storage.h"

namespace linac::train {
namespace {

// Of what the cache may hold: packed tables are there too.
constexpr int64_t kDiskShare = 4;

bool reads_of_stores(const job::Data& data) {
  return std::ranges::any_of(data.train, storage::is_remote) || std::ranges::any_of(data.test, storage::is_remote);
}

}  // namespace

SharedReading::SharedReading(const job::Job& job, comm::Group& group) : opens_later_(job.data.shuffle_window > 0) {
  if (job.data.share && group.may_change() && reads_of_stores(job.data))
    share_ = std::make_shared<storage::RangeShare>(storage::RangeShare::Settings{
        .memory_bytes = std::min(storage::RangeShare::kMemoryBytes, storage::cache_bytes_max()),
        .folder = storage::cache_folder(),
        .disk_bytes = storage::cache_bytes_max() / kDiskShare});
  group.share_ranges(share_);
  storage::use_range_share(share_);
}

SharedReading::~SharedReading() {
  if (!share_) return;
  storage::use_range_share(nullptr);
  const auto counts = share_->counts();
  if (counts.from_others + counts.to_others == 0) return;
  const auto lost = counts.failed + counts.damaged;
  log::info(
      fmt::format("[data] {} came from stores and {} from other workers; {} went to others{}",
                  format_bytes(counts.from_stores), format_bytes(counts.from_others), format_bytes(counts.to_others),
                  lost > 0 ? fmt::format("; {} of them did not come, or were damaged", plural(lost, "range")) : ""));
}

void SharedReading::all_have_opened() {
  if (share_ && !opens_later_) share_->clear();
}

}  // namespace linac::train
