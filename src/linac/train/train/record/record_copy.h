#pragma once
// The record of a run on hosts that do not share its folder. The first worker of each folder keeps the record there, so
// that whoever follows rank 0 has it, and each host can go on alone. Who comes late has it sent.

#include <functional>

#include "linac/train/comm/group.h"
#include "linac/train/train/record/run_folder.h"

namespace linac::train {

/// Whether this rank writes the record of the folder that it sees: rank 0, and the first rank of each other folder. Who
/// cannot tell its folder from others (Member::ledger is empty) does not.
bool keeps_record(const comm::View& view, int rank);

/// What this worker's folder has of the record.
enum class Holds : char { kNotItsTask = '-', kAll = 'a', kPart = 'p' };

/// Collective. Those that hold a part get the lines of metrics.jsonl, the curves of TensorBoard and the best checkpoint
/// from the first worker that holds all, in place of their own; whether this one did. Nothing happens where nobody
/// holds all. `before_sending` is called where files are about to be sent. kPeerLost as in all exchanges, and the
/// folder is as it was; environment error if it cannot be written.
bool copy_records(comm::Group& group, const RunFolder& folder, Holds mine, const std::function<void()>& before_sending);

}  // namespace linac::train
