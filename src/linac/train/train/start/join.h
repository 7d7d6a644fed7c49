#pragma once
// A worker of a run that others have begun. Used by the main thread.

#include <string>

#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/train/start/worker.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

enum class JoinBy { kFolder, kAddress };

/// `run`: its folder, or RUN@HOST:PORT of one of its workers. Returns at once if the run is complete and nobody is
/// there any more. User error if nobody could be joined, kPeerLost if the run has ended otherwise; else as work().
void join_run(const std::string& run, JoinBy by, Worker worker, trained::CompiledJob whole, comm::Rendezvous place);

}  // namespace linac::train
