#pragma once
// One trial carried out: a process in the trial's folder, `linac train` or a command, that ends after SIGTERM with a
// checkpoint and goes on from there. It gets SIGTERM when the process that started it ends, however that ends; a lock
// in its folder, which it inherits, tells whether it is still there. Owned by the thread that made it, with which it
// ends; killed with its owner.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/child_process.h"
#include "linac/control/study/study_file.h"
#include "linac/control/study/trial_record.h"

namespace linac::study {

/// Of the trial, below that of all.
std::filesystem::path trial_folder(const std::filesystem::path& trials, int64_t number);

class TrialProcess {
 public:
  /// Starts it, or lets it go on where it stopped, in its folder below `trials`; one of a population goes on from the
  /// last state of its parent, whose folder is there too. `program`: linac. Waits while a former process of the trial
  /// has not ended. Environment error if it cannot be started.
  TrialProcess(const Study& study, const tune::Space& space, const tune::Trial& trial,
               const std::filesystem::path& trials, const std::filesystem::path& program);
  int64_t number() const { return number_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Its exit status, 128 + the signal for one that was killed; nothing while it goes on.
  std::optional<int> ended();
  void stop() const;
  void kill() const;
  /// TrialRecord's, of a training.
  std::vector<Measured> measured();
  int64_t steps() const { return record_.steps(); }
  std::vector<double> values_of_epoch() const { return record_.values_of_epoch(); }
  /// Of a command that has ended: the values of all objectives, or why there are none.
  std::vector<double> values_of_command(std::string& why) const;
  /// What it says to have taken, by sampler.cost; NaN: nothing, or that is time.
  double cost() const;
  /// The last line of its log that is an error, or the last one.
  std::string last_words() const;

 private:
  nlohmann::json output() const;  // output.json; null: there is none

  const Study* study_;
  int64_t number_;
  std::filesystem::path folder_;
  TrialRecord record_;
  ChildProcess process_;
};

}  // namespace linac::study
