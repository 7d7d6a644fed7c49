#include "linac/service/attempt_verdict.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "linac/base/error.h"

namespace linac::service {
namespace {

using catalog::Outcome;

constexpr int kSignalBase = 128;  // a shell, and `linac train --workers`, tell a signal so
// Those that come from outside; the others are faults of the program.
constexpr std::array kFromOutside{SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGXCPU, SIGPWR};

std::string described(int signal) {
  return fmt::format("killed by signal {} ({}){}", signal, strsignal(signal),
                     signal == SIGKILL ? "; often the kernel, when memory runs out" : "");
}

std::string described_status(int status) {
  const bool known = status >= 1 && status <= static_cast<int>(ErrorCode::kLostQuorum);
  return fmt::format("ended with exit status {}{}", status,
                     known ? fmt::format(" ({})", to_string(static_cast<ErrorCode>(status))) : "");
}

bool lost(int status) {
  return status == static_cast<int>(ErrorCode::kPeerLost) || status == static_cast<int>(ErrorCode::kHang) ||
         status == static_cast<int>(ErrorCode::kLostQuorum);
}

bool refuses(int status) {
  return status == static_cast<int>(ErrorCode::kUser) || status == static_cast<int>(ErrorCode::kData);
}

AttemptVerdict by_itself(const launch::Exit& exit, bool began, const std::string& told) {
  const auto said = [&](const std::string& otherwise) { return told.empty() ? otherwise : told; };
  if (!exit.problem.empty()) return {Outcome::kFailed, "cannot be started: " + exit.problem};
  if (exit.status == static_cast<int>(ErrorCode::kPreempted))
    return {Outcome::kPreempted, "interrupted, with a checkpoint"};
  const bool by_shell = exit.signal == 0 && exit.status > kSignalBase && exit.status < kSignalBase + 32;
  const int signal = by_shell ? exit.status - kSignalBase : exit.signal;
  if (signal != 0) {
    const bool outside = std::find(kFromOutside.begin(), kFromOutside.end(), signal) != kFromOutside.end();
    return {outside ? Outcome::kLost : Outcome::kFailed, described(signal)};
  }
  const Outcome outcome = lost(exit.status)                ? Outcome::kLost
                          : !began && refuses(exit.status) ? Outcome::kRefused
                                                           : Outcome::kFailed;
  return {outcome, said(described_status(exit.status))};
}

}  // namespace

AttemptVerdict judge(const launch::AttemptStatus& status, StopCause cause, bool began, const std::string& told) {
  const bool ended = status.state == launch::AttemptState::kEnded && status.exit.has_value();
  if (ended && status.exit->problem.empty() && status.exit->status == 0 && status.exit->signal == 0)
    return {Outcome::kSucceeded, ""};
  switch (cause) {
    case StopCause::kCancelled:
      return {Outcome::kCancelled, "cancelled"};
    case StopCause::kTimeUsedUp:
      return {Outcome::kPreempted, "stopped at its limit of time"};
    case StopCause::kCostUsedUp:
      return {Outcome::kFailed, "stopped at its limit of cost"};
    case StopCause::kNone:
      break;
  }
  if (!ended) return {Outcome::kLost, "its processes are gone without a word; the host may have been restarted"};
  return by_itself(*status.exit, began, told);
}

}  // namespace linac::service
