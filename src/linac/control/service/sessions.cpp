#include "linac/control/service/sessions.h"

#include <algorithm>

#include "linac/base/base/secure_random.h"
#include "linac/control/service/secrets.h"

namespace linac::service {

std::string Sessions::begin(const Caller& caller, int64_t now_ms, int64_t until_ms) {
  const std::string name = random_hex(64);
  const int64_t expires = until_ms == 0 ? now_ms + kLifetimeMs : std::min(until_ms, now_ms + kLifetimeMs);
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& item) { return item.second.expires_ms <= now_ms; });
  if (sessions_.size() >= kSessionsMax)
    sessions_.erase(std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
      return a.second.expires_ms < b.second.expires_ms;
    }));
  sessions_[keyed_hash(name)] = {caller, random_hex(64), expires};
  return name;
}

std::optional<Session> Sessions::find(const std::string& name, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(keyed_hash(name));
  if (found == sessions_.end() || found->second.expires_ms <= now_ms) return std::nullopt;
  return found->second;
}

bool Sessions::lives(const std::string& hash, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(hash);
  return found != sessions_.end() && found->second.expires_ms > now_ms;
}

void Sessions::end(const std::string& name) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(keyed_hash(name));
}

void Sessions::end_all(const std::string& user) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& item) { return item.second.caller.user == user; });
}

void Sessions::end_of_token(const std::string& token) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& item) { return item.second.caller.token == token; });
}

}  // namespace linac::service
