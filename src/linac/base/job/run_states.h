#pragma once
// The states of a run, for all who speak of them: the service's queue and catalog, MLflow's clients, the verbs, the
// pages. Which state may follow which is the queue's to say (control/catalog/queue.h). Beside them: how a training's
// own record says that it goes on or has ended (RunStatus), and how an attempt to run a job ended (Outcome).
// Thread-safe.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace linac::job {

enum class RunState {
  kPending,
  kStarting,
  kRunning,
  kRecovering,
  kSucceeded,
  kFailed,
  kFailedPrechecks,
  kCancelled,
  kLost
};

struct RunStateEntry {
  RunState state;
  const char* word;
  bool ended;          // nothing comes after it, but a resume
  const char* mlflow;  // what MLflow's clients are told
  int exit_status;     // of a verb that waited for the run
  const char* meaning;
};
inline constexpr std::array kRunStates{
    RunStateEntry{RunState::kPending, "PENDING", false, "SCHEDULED", 1, "it waits in the queue"},
    RunStateEntry{RunState::kStarting, "STARTING", false, "RUNNING", 1, "its processes are being started"},
    RunStateEntry{RunState::kRunning, "RUNNING", false, "RUNNING", 1, "it goes on"},
    RunStateEntry{RunState::kRecovering, "RECOVERING", false, "RUNNING", 1,
                  "an attempt was lost or interrupted; the next one is due"},
    RunStateEntry{RunState::kSucceeded, "SUCCEEDED", true, "FINISHED", 0, "it came to its end"},
    RunStateEntry{RunState::kFailed, "FAILED", true, "FAILED", 1, "it failed by itself, or used up its limits"},
    RunStateEntry{RunState::kFailedPrechecks, "FAILED_PRECHECKS", true, "FAILED", 2,
                  "its job or data was refused before the first step"},
    RunStateEntry{RunState::kCancelled, "CANCELLED", true, "KILLED", 75, "somebody stopped it"},
    RunStateEntry{RunState::kLost, "LOST", true, "FAILED", 6, "its processes were lost, and no attempt was left"}};

const char* to_string(RunState state);                           // "PENDING"
std::optional<RunState> run_state_named(std::string_view word);  // none for a word that is no state
/// Whether nothing comes after it, but a resume.
bool ended(RunState state);
/// MLflow's word for it.
const char* mlflow_status(RunState state);
/// MLflow's word as a state; none for any other word.
std::optional<RunState> state_of_mlflow(std::string_view status);
/// What a verb that waited for the run ends with.
int exit_status(RunState state);

/// What a training writes of itself into run.json, and at its end into metrics.jsonl.
enum class RunStatus { kRunning, kSucceeded, kInterrupted, kFailed };
inline constexpr std::array kRunStatuses{
    RunStatus::kRunning,
    RunStatus::kSucceeded,
    RunStatus::kInterrupted,
    RunStatus::kFailed,
};
const char* to_string(RunStatus status);  // "running"
/// The state of a run of which nothing but its record is known: one that says nothing goes on, an interrupted one was
/// cancelled.
RunState state_of(std::string_view status);

/// How an attempt to run a job ended.
enum class Outcome { kSucceeded, kFailed, kPreempted, kLost, kCancelled, kRefused };
const char* to_string(Outcome outcome);  // "PREEMPTED"

}  // namespace linac::job
