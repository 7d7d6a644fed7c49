#include "linac/train/train/audit/parting.h"

#include <algorithm>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/job/audit_words.h"

namespace linac::train {

bool ends_run(const AuditFinding& finding, int workers) {
  return !finding.suspects.empty() || std::cmp_equal(finding.wrong.size(), workers);
}

void Parting::part(const AuditFinding& finding, comm::Group& group, RecordKeeper& record, int replicas,
                   int64_t global_step, bool& leaves) {
  found_.push_back(line_of(finding, group.view(), replicas, global_step));
  const Error error = wrong_error(found_.back());
  if (ends_run(finding, group.size())) {
    tell(record);
    throw error;
  }
  if (std::ranges::find(finding.wrong, group.rank()) != finding.wrong.end()) {
    record.wait();  // whoever takes the record over finds it whole
    leaves = true;
    throw error;
  }
  for (const int rank : finding.wrong) group.shut_out(rank, error);
  throw Error(ErrorCode::kPeerLost, job::in_words(found_.back()));
}

void Parting::tell(RecordKeeper& record) {
  for (const job::AuditLine& line : std::exchange(found_, {})) record.audited(line);
}

}  // namespace linac::train
