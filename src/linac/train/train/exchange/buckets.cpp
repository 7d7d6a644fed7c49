#include "linac/train/train/exchange/buckets.h"

#include <algorithm>

namespace linac::train {
namespace {

// Large enough that the latency of a network (two rounds a bucket and level) is little beside the transfer, small
// enough that the last one, which nothing hides, is little beside the whole.
constexpr size_t kBucketFloats = size_t{1} << 18, kBucketFloatsMax = size_t{1} << 21, kBuckets = 16;

}  // namespace

std::vector<Bucket> make_buckets(const graph::Layout& gradient, size_t tail) {
  std::vector<Bucket> buckets;
  auto end = static_cast<size_t>(gradient.total);
  const size_t wanted = std::clamp(end / kBuckets, kBucketFloats, kBucketFloatsMax);
  for (size_t i = gradient.slots.size(); i-- > 0;) {
    const auto begin = i == 0 ? 0 : static_cast<size_t>(gradient.slots[i].offset);
    if (end - begin < wanted && i > 0) continue;
    if (end > begin) buckets.push_back({begin, end - begin});
    end = begin;
  }
  buckets.push_back({static_cast<size_t>(gradient.total), tail});
  return buckets;
}

}  // namespace linac::train
