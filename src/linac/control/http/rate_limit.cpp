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

std::shared_ptr<void> Shares::take(const std::string& who, int64_t amount) {
  const std::lock_guard lock(mutex_);
  const auto before = taken_.find(who);
  const int64_t taken = before == taken_.end() ? 0 : before->second;
  if (amount > most_of_one_ - taken) return nullptr;
  taken_[who] = taken + amount;
  return std::shared_ptr<void>(this, [this, who, amount](void*) {
    const std::lock_guard again(mutex_);
    const auto at = taken_.find(who);
    if ((at->second -= amount) == 0) taken_.erase(at);
  });
}

}  // namespace linac::http
