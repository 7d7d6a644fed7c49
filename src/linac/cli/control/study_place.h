#pragma once
// Where the verbs of a study find it: a folder of this host or, with --server, a service. One thread.

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/control/study/ledger.h"

namespace linac::cli {

struct StudyEnd {
  int64_t trial = 0;
  tune::State state = tune::State::kComplete;
  std::vector<double> values;
  std::string reason;
  double cost = std::numeric_limits<double>::quiet_NaN();  // what it took; NaN: not known
};

class StudyPlace {
 public:
  virtual ~StudyPlace() = default;
  /// The study as it was when it was opened.
  virtual const study::Ledger& ledger() = 0;
  /// The next trial: {"trial", "point"}, of a service also its lease. User error if there is none.
  virtual nlohmann::json ask() = 0;
  /// An intermediate value: {"stop", "reason"}.
  virtual nlohmann::json report(int64_t trial, int64_t step, double value) = 0;
  /// The end of a trial, which is what is returned.
  virtual nlohmann::json tell(const StudyEnd& end) = 0;
  /// Numbers of the trials whose suggestions do not follow from what had been told before them.
  virtual std::vector<int64_t> replay() = 0;
  virtual std::string title() const = 0;
  /// How the queue of a service stands to it, in a line; empty: no queue carries it out.
  virtual std::string standing() { return ""; }
};

struct LeaseOptions {
  std::string word;  // of the trial; empty: whoever has it
  int64_t seconds = 600;
};

/// `name`: a folder, or the name of a study at the service that --server names. User error if there is none.
std::unique_ptr<StudyPlace> open_study(const std::string& name, const LeaseOptions& lease);
/// Makes the study of a file there, or goes on with the same one.
void make_study(const std::string& name, const std::string& file, const std::string& experiment);
/// Deletes a study of a service; with `force` although programs have trials of it. User error for a folder.
void delete_study(const std::string& name, bool force);
/// Ends one that the queue of a service carries out; a line that says so.
std::string stop_study(const std::string& name, const std::string& reason);
/// Whether --server was given.
bool at_service();

}  // namespace linac::cli
