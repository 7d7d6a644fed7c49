#pragma once
// N worker processes of this program on this machine, started, watched and ended together. The parent hosts the store
// at which they meet and takes no part in the training. Uses signals and waits for children: one launch at a time, from
// the main thread, best before other threads exist.

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "linac/train/comm/meeting/key_store.h"

namespace linac::launch {

struct LocalLaunch {
  int workers = 1;
  std::vector<std::string> argv;                                 // of each worker, with argv[0]
  std::string program = "/proc/self/exe";                        // what to execute
  std::vector<std::pair<std::string, std::string>> environment;  // further variables for the workers

  // A run whose workers can be lost and join keeps its views in this folder (train/comm/membership/view_ledger.h). Once
  // it has begun, a worker that is killed, hangs or fails for a reason of its machine ends nothing but itself, as long
  // as others are left; up to `restarts` times another one is started in its place, with `join_argv`.
  std::filesystem::path views;
  int restarts = 0;
  std::vector<std::string> join_argv;
  // A worker that ends with 75 has left the others (distribution.on_sigterm = leave): nobody takes its place.
  bool may_leave = false;

  // After a failure, how long the others may take to notice by themselves; then SIGTERM, and after `end_grace` SIGKILL.
  std::chrono::milliseconds failure_grace{10'000};
  std::chrono::milliseconds end_grace{10'000};
  // Once a worker has ended well, how long the others may take to end too; then as after a failure.
  std::chrono::milliseconds complete_grace{60'000};
  // After a request to stop, how long the workers may take to finish their step and write the checkpoint.
  std::chrono::milliseconds stop_grace{120'000};
};

/// Runs the workers, who meet at one of `stores`, to their end and returns the exit status of the whole (see
/// run_end.h), having printed the root cause of a failure last on standard error. From the first end of a worker that
/// ends the run on, every wait is bounded. Each worker finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT, TORCHELASTIC_USE_AGENT_STORE and LINAC_ERROR_FD in its environment; one that takes the
/// place of a lost worker that one's LOCAL_RANK, and in place of a rank its number as LINAC_WORKER. Rank 0 has the
/// terminal; what the others print appears line by line as "[rank 2] ..." on standard error. The first SIGINT, SIGTERM
/// or SIGUSR1 becomes one SIGTERM to each worker; a second SIGINT kills them. Environment error when a worker cannot be
/// started; those already running are ended.
int launch_local_workers(const LocalLaunch& launch, const comm::Stores& stores);

}  // namespace linac::launch
