#include "linac/base/job/exit_codes.h"

#include <csignal>

#include <algorithm>

namespace linac::job {
namespace {

// Those that come from outside; the others are faults of the program.
constexpr std::array kFromOutside{SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGXCPU, SIGPWR};

const ExitEntry* entry_of_status(int status) {
  const auto found =
      std::find_if(kExitCodes.begin(), kExitCodes.end(), [&](const ExitEntry& one) { return one.status == status; });
  return found == kExitCodes.end() ? nullptr : &*found;
}

}  // namespace

int signal_in(int status) {
  return status > kSignalBase && status < kSignalBase + 32 ? status - kSignalBase : 0;
}

ExitClass class_of_status(int status) {
  if (const int signal = signal_in(status)) return class_of_signal(signal);
  const ExitEntry* entry = entry_of_status(status);
  return entry == nullptr ? ExitClass::kFailed : entry->kind;
}

ExitClass class_of_signal(int signal) {
  const bool outside = std::find(kFromOutside.begin(), kFromOutside.end(), signal) != kFromOutside.end();
  return outside ? ExitClass::kLost : ExitClass::kFailed;
}

std::string word_of_status(int status) {
  const ExitEntry* entry = entry_of_status(status);
  return entry == nullptr || status == 0 ? "" : to_string(static_cast<ErrorCode>(status));
}

const char* to_string(ExitClass kind) {
  switch (kind) {
    case ExitClass::kDone:
      return "done";
    case ExitClass::kRefused:
      return "refused";
    case ExitClass::kFailed:
      return "failed";
    case ExitClass::kLost:
      return "lost";
    case ExitClass::kInterrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace linac::job
