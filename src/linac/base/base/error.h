#pragma once
// Errors of users, data and environment are thrown as Error; each carries the code that becomes the process's exit
// status (docs/reference/commands.md). Broken invariants abort through LINAC_CHECK. Expected outcomes are values, never
// exceptions.

#include <stdexcept>
#include <string>

namespace linac {

/// The numeric values are the exit statuses of the program.
enum class ErrorCode : int {
  kInternal = 1,     // a bug of linac
  kUser = 2,         // job file, flags, model file
  kData = 3,         // a data file is missing, damaged or does not hold what the job says
  kEnvironment = 4,  // disk, network, permissions
  kNumeric = 5,      // the training collapsed: NaN, Inf or empty images
  kPeerLost = 6,     // other workers ended or do not answer, and the run could not go on without them
  kGate = 7,         // a comparison's figures are beyond the gate's limits
  kHang = 8,         // this worker made no progress for longer than the job allows
  kLostQuorum = 9,   // too few workers were left or reachable
  kUndecided = 10,   // too few showers to say whether a comparison keeps the gate's limits
  kNotFinite = 11,   // some scores are NaN or Inf; the file with them is written whole
  kBudget = 12,      // the run's budget is used up; `--resume` with more of it goes on
  kWrong = 13,       // an audit has found that this worker, or one of those that end with it, computes wrongly
  kPreempted = 75,   // stopped by SIGTERM/SIGINT after a checkpoint: `--resume` goes on (EX_TEMPFAIL of sysexits.h)
};

const char* to_string(ErrorCode code);

/// `message` follows "[where] what (why); way out", e.g. "[hdf5] a.h5: no dataset 'ECAL' (found: X, Y); set
/// data.fields.image".
class Error : public std::runtime_error {
 public:
  /// Of a longer message the middle is left out: it may quote what a stranger's file holds.
  static constexpr size_t kMessageBytesMax = 8192;

  Error(ErrorCode code, const std::string& message);
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

inline Error user_error(const std::string& message) {
  return {ErrorCode::kUser, message};
}
inline Error data_error(const std::string& message) {
  return {ErrorCode::kData, message};
}
inline Error environment_error(const std::string& message) {
  return {ErrorCode::kEnvironment, message};
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace linac

/// An invariant of the code itself; holds in every build type.
#define LINAC_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::linac::check_failed(#condition, __FILE__, __LINE__))
