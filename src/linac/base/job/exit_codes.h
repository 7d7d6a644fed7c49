#pragma once
// What the exit status of a training says, and what follows from it. The statuses themselves are those of
// base/base/error.h, whose Error becomes one; here they have their classes. Thread-safe.

#include <array>
#include <string>

#include "linac/base/base/error.h"

namespace linac::job {

/// What is to be done about an end.
enum class ExitClass {
  kDone,
  kRefused,      // the job, its flags or its data are wrong: the same again would end the same
  kFailed,       // it, or its machine, is at fault: somebody has to look
  kLost,         // other processes are gone: worth another attempt
  kInterrupted,  // it was asked to stop and left a checkpoint: worth going on
};

struct ExitEntry {
  int status;
  ExitClass kind;
  const char* meaning;
};
inline constexpr std::array kExitCodes{
    ExitEntry{0, ExitClass::kDone, "done"},
    ExitEntry{int(ErrorCode::kInternal), ExitClass::kFailed, "a bug of linac"},
    ExitEntry{int(ErrorCode::kUser), ExitClass::kRefused, "job file, flags or model file"},
    ExitEntry{int(ErrorCode::kData), ExitClass::kRefused, "data: missing, damaged, not what the job says"},
    ExitEntry{int(ErrorCode::kEnvironment), ExitClass::kFailed, "disk, network, permissions, memory"},
    ExitEntry{int(ErrorCode::kNumeric), ExitClass::kFailed, "the training collapsed: NaN, Inf or empty images"},
    ExitEntry{int(ErrorCode::kPeerLost), ExitClass::kLost,
              "other workers ended or did not answer, and the run could not go on without them"},
    ExitEntry{int(ErrorCode::kGate), ExitClass::kFailed, "a comparison is beyond its gate"},
    ExitEntry{int(ErrorCode::kHang), ExitClass::kLost,
              "this worker made no progress for `distribution.stall_timeout_s`; the others go on"},
    ExitEntry{int(ErrorCode::kLostQuorum), ExitClass::kLost,
              "too few workers were left or reachable; `--resume` goes on"},
    ExitEntry{int(ErrorCode::kUndecided), ExitClass::kFailed, "too few showers for a gate to judge"},
    ExitEntry{int(ErrorCode::kNotFinite), ExitClass::kFailed, "some scores are NaN or Inf; the file is whole"},
    ExitEntry{int(ErrorCode::kBudget), ExitClass::kRefused,
              "the run's budget is used up, after a checkpoint: `--resume` with more of it goes on"},
    ExitEntry{
        int(ErrorCode::kWrong), ExitClass::kFailed,
        "an audit (`train.audit`, `linac bench audit`) has found that this worker, one of those that end so, or a "
        "core of this host computes wrongly: it wants a look"},
    ExitEntry{int(ErrorCode::kPreempted), ExitClass::kInterrupted,
              "stopped by SIGTERM, SIGINT or SIGUSR1 after a checkpoint: `--resume` goes on"}};

/// A shell, and `linac train --workers`, tell of a signal by this number and its own.
inline constexpr int kSignalBase = 128;
/// The signal that a status tells of, 0 for none.
int signal_in(int status);

/// kFailed for a status that linac does not end with; of signal_in() the class of the signal.
ExitClass class_of_status(int status);
/// kLost for one that comes from outside (SIGKILL, SIGTERM ...), kFailed for a fault of the program.
ExitClass class_of_signal(int signal);

/// "user error"; empty for a status that linac does not end with.
std::string word_of_status(int status);
const char* to_string(ExitClass kind);

}  // namespace linac::job
