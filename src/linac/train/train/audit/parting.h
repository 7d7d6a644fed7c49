#pragma once
// What a worker does once an audit has found some that compute wrongly: they leave, the others shut them out and do the
// step again. Used by the training's thread.

#include <cstdint>
#include <vector>

#include "linac/base/job/group_lines.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/audit/finding.h"
#include "linac/train/train/record/record_keeper.h"

namespace linac::train {

/// Whether nobody goes on: nobody can tell who errs, or none of so many workers is left.
bool ends_run(const AuditFinding& finding, int workers);

class Parting {
 public:
  /// Throws kPeerLost on those that go on, in the next view; kWrong on those that leave, where `leaves` is set, and on
  /// all where ends_run(). `global_step`: steps that are done.
  [[noreturn]] void part(const AuditFinding& finding, comm::Group& group, RecordKeeper& record, int replicas,
                         int64_t global_step, bool& leaves);
  /// What was found in the views before this one, for the record.
  void tell(RecordKeeper& record);

 private:
  std::vector<job::AuditLine> found_;  // and not yet in the record
};

}  // namespace linac::train
