#include "linac/control/execution/attempt_verdict.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>

#include "linac/base/job/exit_codes.h"

namespace linac::execution {
namespace {

using catalog::Outcome;
using job::ExitClass;

constexpr const char* kStoppedByBudget =
    "stopped by its budget, after a checkpoint (with more of it: linac resume RUN --set budget.KEY=N)";

std::string described(int signal, bool of_memory) {
  return fmt::format("killed by signal {} ({}){}", signal, strsignal(signal),
                     signal == SIGKILL && !of_memory ? "; often the kernel, when memory runs out" : "");
}

// What the kernel has to do with it, behind whatever else is said of the end.
std::string of_memory(const launch::Exit& exit) {
  if (exit.out_of_memory_mb == 0) return "";
  return fmt::format(
      "; the kernel has killed processes of it, as all together had taken its {} MB of memory (more of it: --memory)",
      exit.out_of_memory_mb);
}

std::string described_status(int status) {
  const std::string word = job::word_of_status(status);
  return fmt::format("ended with exit status {}{}", status, word.empty() ? "" : fmt::format(" ({})", word));
}

AttemptVerdict by_its_end(const launch::Exit& exit, bool began, const std::string& told) {
  const auto said = [&](const std::string& otherwise) { return told.empty() ? otherwise : told; };
  if (!exit.problem.empty()) return {Outcome::kFailed, "cannot be started: " + exit.problem};
  const int signal = exit.signal != 0 ? exit.signal : job::signal_in(exit.status);
  if (signal != 0)
    return {job::class_of_signal(signal) == ExitClass::kLost ? Outcome::kLost : Outcome::kFailed,
            described(signal, exit.out_of_memory_mb > 0)};
  // Whoever has it begun once more changes nothing of that.
  if (exit.status == int(ErrorCode::kBudget))
    return {Outcome::kFailed, told.empty() ? kStoppedByBudget : fmt::format("{}: {}", kStoppedByBudget, told)};
  switch (job::class_of_status(exit.status)) {
    case ExitClass::kInterrupted:
      return {Outcome::kPreempted, "interrupted, with a checkpoint"};
    case ExitClass::kLost:
      return {Outcome::kLost, said(described_status(exit.status))};
    case ExitClass::kRefused:
      return {began ? Outcome::kFailed : Outcome::kRefused, said(described_status(exit.status))};
    case ExitClass::kDone:
    case ExitClass::kFailed:
      break;
  }
  return {Outcome::kFailed, said(described_status(exit.status))};
}

AttemptVerdict by_itself(const launch::Exit& exit, bool began, const std::string& told) {
  AttemptVerdict verdict = by_its_end(exit, began, told);
  verdict.reason += of_memory(exit);
  return verdict;
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
  if (status.state == launch::AttemptState::kEnded && !ended) return {Outcome::kFailed, status.reason};
  if (!ended) return {Outcome::kLost, status.reason.empty() ? "it is gone without a word" : status.reason};
  return by_itself(*status.exit, began, told);
}

}  // namespace linac::execution
