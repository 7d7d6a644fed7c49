#pragma once
// What workers say of their time, for the record. The functions are thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/job/run_record.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/record/host_energy.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::train {

/// A worker's account of itself: host, process, seconds by phase, what it has sent, what its machine took, what it
/// read of stores.
job::WorkerAccount account_of(const PhaseClock& clock, const comm::Traffic& traffic, HostEnergy& energy);

/// What a worker tells the others of its times, step by step. One thread.
class ToldAccount {
 public:
  /// After a step in which it computed so many replicas in so many seconds. The pace is smoothed: a step may be slow by
  /// chance. The account is put into words ten times a second at most: of short steps that would take a part.
  void tell(comm::Group& group, const PhaseClock& clock, HostEnergy& energy, double computed_s, int64_t replicas);

 private:
  double pace_s_ = 0;  // wall seconds of computing a replica of a step
  std::string text_;
  std::chrono::steady_clock::time_point written_at_;
};

/// Collective: those of all ranks, alike everywhere.
std::vector<job::WorkerAccount> gather_accounts(comm::Group& group, const job::WorkerAccount& mine);

/// What the members told last, of those that were heard.
std::vector<job::WorkerAccount> accounts_of(const comm::Group& group);

}  // namespace linac::train
