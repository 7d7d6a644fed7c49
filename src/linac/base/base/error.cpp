#include "linac/base/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace linac {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return "internal error";
    case ErrorCode::kUser:
      return "user error";
    case ErrorCode::kData:
      return "data error";
    case ErrorCode::kEnvironment:
      return "environment error";
    case ErrorCode::kNumeric:
      return "numeric failure";
    case ErrorCode::kPeerLost:
      return "worker lost";
    case ErrorCode::kGate:
      return "gate failed";
    case ErrorCode::kHang:
      return "worker hung";
    case ErrorCode::kUndecided:
      return "not enough to judge";
    case ErrorCode::kNotFinite:
      return "not finite";
    case ErrorCode::kLostQuorum:
      return "too few workers";
    case ErrorCode::kPreempted:
      return "interrupted";
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "linac: internal error: %s does not hold (%s:%d); please report it\n", condition, file, line);
  std::abort();
}

}  // namespace linac
