#include "linac/base/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace linac {
namespace {

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

std::string bounded(const std::string& message) {
  if (message.size() <= Error::kMessageBytesMax) return message;
  size_t head = Error::kMessageBytesMax * 3 / 4, tail = message.size() - Error::kMessageBytesMax / 4;
  while (head > 0 && is_inside_character(message[head])) --head;
  while (tail < message.size() && is_inside_character(message[tail])) ++tail;
  return message.substr(0, head) + " [... " + std::to_string(tail - head) + " bytes left out ...] " +
         message.substr(tail);
}

}  // namespace

Error::Error(ErrorCode code, const std::string& message) : std::runtime_error(bounded(message)), code_(code) {}

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
    case ErrorCode::kBudget:
      return "budget used up";
    case ErrorCode::kWrong:
      return "computes wrongly";
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
