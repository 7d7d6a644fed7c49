#pragma once
// Whether the service can take what it is sent: the catalog is sound and can be written, the disk has room. Looked at
// once a second at most, however often somebody asks. Thread-safe.

#include <chrono>
#include <mutex>
#include <string>

#include "linac/control/service/context.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

class Health {
 public:
  explicit Health(Context& context) : context_(context) {}
  /// What is wrong, without names of files; empty: nothing.
  Task<std::string> trouble();

 private:
  Task<std::string> look();

  Context& context_;
  std::mutex mutex_;
  bool looking_ = false, looked_ = false;
  std::string trouble_;
  std::chrono::steady_clock::time_point at_{};
};

}  // namespace linac::service
