#include "linac/control/service/failed_logins.h"

#include "linac/base/base/plural.h"

namespace linac::service {
namespace {

catalog::AuditEntry entry(int64_t at_ms, int64_t count, const std::string& from) {
  return {at_ms, "", "login.failed", plural(count, "wrong token"), from};
}

}  // namespace

std::vector<catalog::AuditEntry> FailedLogins::failed(const std::string& from, int64_t now_ms) {
  std::vector<catalog::AuditEntry> entries = over(now_ms);
  const std::lock_guard lock(mutex_);
  const bool full = minutes_.size() >= kAddressesMax && !minutes_.contains(from);
  const std::string& who = full ? "others" : from;
  const auto [at, first] = minutes_.try_emplace(who, Minute{now_ms, 0});
  if (first)
    entries.push_back(entry(now_ms, 1, who));
  else
    ++at->second.further;
  return entries;
}

std::vector<catalog::AuditEntry> FailedLogins::over(int64_t now_ms, bool all) {
  std::vector<catalog::AuditEntry> entries;
  const std::lock_guard lock(mutex_);
  std::erase_if(minutes_, [&](const auto& item) {
    const auto& [from, minute] = item;
    if (!all && now_ms - minute.since_ms < kTogetherMs) return false;
    if (minute.further > 0) entries.push_back(entry(now_ms, minute.further, from));
    return true;
  });
  return entries;
}

}  // namespace linac::service
