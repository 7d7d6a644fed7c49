#include "linac/base/job/run_states.h"

namespace linac::job {
namespace {

const RunStateEntry& entry_of(RunState state) {
  return kRunStates[static_cast<size_t>(state)];
}

constexpr bool in_order() {
  for (size_t i = 0; i < kRunStates.size(); ++i)
    if (kRunStates[i].state != static_cast<RunState>(i)) return false;
  return true;
}
static_assert(in_order(), "entry_of() finds states by their place");

}  // namespace

const char* to_string(RunState state) {
  return entry_of(state).word;
}

std::optional<RunState> run_state_named(std::string_view word) {
  for (const RunStateEntry& entry : kRunStates)
    if (word == entry.word) return entry.state;
  return std::nullopt;
}

bool ended(RunState state) {
  return entry_of(state).ended;
}

const char* mlflow_status(RunState state) {
  return entry_of(state).mlflow;
}

std::optional<RunState> state_of_mlflow(std::string_view status) {
  // "RUNNING" and "FAILED" stand for several; those of the same word are meant.
  if (const auto same = run_state_named(status); same && status == mlflow_status(*same)) return same;
  for (const RunStateEntry& entry : kRunStates)
    if (status == entry.mlflow) return entry.state;
  return std::nullopt;
}

int exit_status(RunState state) {
  return entry_of(state).exit_status;
}

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::kRunning:
      return "running";
    case RunStatus::kSucceeded:
      return "succeeded";
    case RunStatus::kInterrupted:
      return "interrupted";
    case RunStatus::kFailed:
      return "failed";
  }
  return "";
}

RunState state_of(std::string_view status) {
  if (status == to_string(RunStatus::kSucceeded)) return RunState::kSucceeded;
  if (status == to_string(RunStatus::kFailed)) return RunState::kFailed;
  if (status == to_string(RunStatus::kInterrupted)) return RunState::kCancelled;
  return RunState::kRunning;
}

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "SUCCEEDED";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kPreempted:
      return "PREEMPTED";
    case Outcome::kLost:
      return "LOST";
    case Outcome::kCancelled:
      return "CANCELLED";
    case Outcome::kRefused:
      return "REFUSED";
  }
  return "UNKNOWN";
}

}  // namespace linac::job
