#pragma once
// A worker of a run: the devices that it computes with, and the group that it trains in. Used by the main thread.

#include <filesystem>
#include <string>

#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/train/trainer.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

struct Worker {
  TrainingOptions options;  // but for what it computes with
  std::string listen;       // numeric address of this machine at which others may join; empty: none
  std::vector<std::string> join_addresses{};
};

/// What all workers do once it is clear which they are: meets the others and trains. Errors as run_training(), and of
/// devices that are not there.
void work(Worker worker, trained::CompiledJob whole, const comm::Rendezvous& rendezvous);

}  // namespace linac::train
