#include "linac/cli/data/file_ends.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"

namespace linac::cli {

void need_all(const std::vector<FileEnd>& ends, const std::string& where, const std::string& done,
              const std::string& way_out) {
  const FileEnd* first = nullptr;
  int64_t failed = 0, stopped = 0;
  for (const FileEnd& end : ends) {
    if (end.stopped) ++stopped;
    if (end.error.empty()) continue;
    ++failed;
    if (first == nullptr)
      first = &end;
    else
      fmt::print(stderr, "linac: {}\n", end.error);
  }
  const std::string all = plural(static_cast<int64_t>(ends.size()), "file");
  if (first != nullptr) {
    const std::string count = failed > 1 ? fmt::format(" ({} of {} failed)", failed, all) : "";
    throw Error(static_cast<ErrorCode>(first->error_code), first->error + count);
  }
  if (stopped > 0) {
    throw Error(ErrorCode::kPreempted,
                fmt::format("[{}] stopped by a signal, {} of {} not {}; {}", where, stopped, all, done, way_out));
  }
}

}  // namespace linac::cli
