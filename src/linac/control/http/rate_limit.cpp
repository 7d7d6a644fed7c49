#include "linac/control/http/rate_limit.h"

#include <algorithm>

namespace linac::http {

RateLimit::Bucket& RateLimit::filled(const std::string& who, Time now) {
  const auto grown = [&](const Bucket& bucket) {
    return std::min(burst_, bucket.left + per_second_ * std::chrono::duration<double>(now - bucket.since).count());
  };
  if (buckets_.size() >= kCallersMax && !buckets_.contains(who)) {
    std::erase_if(buckets_, [&](const auto& item) { return grown(item.second) >= burst_; });
    if (buckets_.size() >= kCallersMax)
      buckets_.clear();  // so many callers at once: none of them is limited for a moment
  }
  Bucket& bucket = buckets_.try_emplace(who, Bucket{burst_, now}).first->second;
  bucket = {grown(bucket), now};
  return bucket;
}

bool RateLimit::take(const std::string& who, Time now) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = filled(who, now);
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

bool RateLimit::left(const std::string& who, Time now) {
  const std::lock_guard lock(mutex_);
  return filled(who, now).left >= 1;
}

std::shared_ptr<void> Shares::take(const std::string& who) {
  const std::lock_guard lock(mutex_);
  int& taken = taken_[who];
  if (taken >= most_of_one_) return nullptr;
  ++taken;
  return std::shared_ptr<void>(this, [this, who](void*) {
    const std::lock_guard again(mutex_);
    const auto at = taken_.find(who);
    if (--at->second == 0) taken_.erase(at);
  });
}

}  // namespace linac::http
