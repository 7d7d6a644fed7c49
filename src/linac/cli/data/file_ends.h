#pragma once
// How a verb ends that does something with each of several files.

#include <cstdint>
#include <string>
#include <vector>

namespace linac::cli {

struct FileEnd {
  std::string error{};  // empty: well, or stopped
  int error_code = 0;   // an ErrorCode
  bool stopped = false;
};

/// Returns if all ended well. Else the first failure is the verb's error, and the others are said before it; where
/// files were only stopped, an error of ErrorCode::kPreempted that says so: "[copy] stopped by a signal, 2 of 5 files
/// not DONE; WAY_OUT".
void need_all(const std::vector<FileEnd>& ends, const std::string& where, const std::string& done,
              const std::string& way_out);

}  // namespace linac::cli
