#pragma once
// Those who are logged in with a browser. A session lives in memory: a restart of the service ends it. Only a keyed
// hash of its name is kept. Thread-safe.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "linac/control/service/http_words.h"

namespace linac::service {

struct Session {
  Caller caller;
  std::string csrf;  // what requests that change something must carry as X-CSRF-Token
  int64_t expires_ms = 0;
};

class Sessions {
 public:
  /// The new session's name, for the cookie. `until_ms`: end of the token that it stands for, 0 for none.
  std::string begin(const Caller& caller, int64_t now_ms, int64_t until_ms);
  std::optional<Session> find(const std::string& name, int64_t now_ms);
  bool lives(const std::string& hash, int64_t now_ms);  // by the keyed hash of its name
  void end(const std::string& name);
  void end_all(const std::string& user);
  void end_of_token(const std::string& token);  // those that began with it

  static constexpr int64_t kLifetimeMs = 12 * 3600 * 1000;
  static constexpr size_t kSessionsMax = 10000;  // the one that ends first makes room

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Session> sessions_;
};

}  // namespace linac::service
