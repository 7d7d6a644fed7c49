#pragma once
// What this host can give to jobs, and who has it: cores and GPUs by number, memory by size. One thread.

#include <optional>
#include <string>
#include <vector>

#include "linac/control/launch/command.h"
#include "linac/control/launch/demand.h"

namespace linac::launch {

class Slots {
 public:
  static constexpr int64_t kProcessesOfCore = 512;

  Slots(std::vector<int> cores, int64_t memory_mb, std::vector<int> gpus, int64_t processes_of_core = kProcessesOfCore);
  /// All of this host that this process may use: its cores, its memory, its NVIDIA GPUs.
  static Slots of_host();
  /// "cores=8,memory=32G,gpus=2,processes=512": of the host's no more than that; what is not named stays. Processes are
  /// those that an attempt may have at a time for each of its cores. User error for anything else.
  static Slots of_text(const std::string& text);

  const Demand& all() const { return all_; }
  Demand free() const;

  /// Takes them; none if they are not free. One that does not say what memory it wants may take no more than all may
  /// have.
  std::optional<Limits> take(const Demand& wanted);
  /// Takes what an attempt has that was found again, even if somebody else has it too.
  void retake(const Limits& limits, const Demand& wanted);
  void give_back(const Limits& limits, const Demand& wanted);

 private:
  Demand all_;
  std::vector<int> own_cores_, own_gpus_;
  std::vector<int> cores_, gpus_;  // free ones of them
  int64_t memory_mb_, processes_of_core_;
};

}  // namespace linac::launch
