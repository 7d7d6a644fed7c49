#include "linac/train/train/audit/finding.h"

#include <fmt/format.h>

#include <chrono>

#include "linac/base/base/host.h"
#include "linac/base/job/audit_words.h"

namespace linac::train {
namespace {

std::vector<job::ViewMember> members(const std::vector<int>& ranks, const comm::View& view, int replicas) {
  std::vector<job::ViewMember> named;
  for (const int rank : ranks) {
    const comm::Member& member = view.members.at(static_cast<size_t>(rank));
    const comm::ReplicaRange range = comm::replicas_of(view, rank, replicas);
    const bool alone = member.host.empty();  // a lone worker's view names no host
    named.push_back({.rank = rank,
                     .pid = member.pid,
                     .replicas = range.end - range.begin,
                     .host = alone ? host_name() : member.host});
  }
  return named;
}

}  // namespace

job::AuditLine line_of(const AuditFinding& finding, const comm::View& view, int replicas, int64_t global_step) {
  job::AuditLine line;
  line.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  line.global_step = global_step;
  line.clean_step = finding.clean_step;
  line.wrong = members(finding.wrong, view, replicas);
  line.suspects = members(finding.suspects, view, replicas);
  line.what = finding.what;
  return line;
}

Error wrong_error(const job::AuditLine& line) {
  return {
      ErrorCode::kWrong,
      fmt::format("[audit] after step {} {}; {}. Have its host looked at, and go on without it (--resume, if the run "
                  "has ended)",
                  line.global_step, job::in_words(line), job::clean_in_words(line))};
}

}  // namespace linac::train
