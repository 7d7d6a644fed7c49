#pragma once
// Wrong tokens in the audit log: the first one of an address at once, further ones of its next minute as one entry with
// their number, so that who guesses does not fill the log. Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "linac/control/catalog/users.h"

namespace linac::service {

class FailedLogins {
 public:
  /// What is to be put into the log now. Beyond kAddressesMax addresses of a minute all count as "others".
  std::vector<catalog::AuditEntry> failed(const std::string& from, int64_t now_ms);
  /// Those of the minutes that are over; `all`: of those that go on as well.
  std::vector<catalog::AuditEntry> over(int64_t now_ms, bool all = false);

  static constexpr int64_t kTogetherMs = 60'000;
  static constexpr size_t kAddressesMax = 1000;

 private:
  struct Minute {
    int64_t since_ms = 0;
    int64_t further = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Minute> minutes_;  // by address
};

}  // namespace linac::service
