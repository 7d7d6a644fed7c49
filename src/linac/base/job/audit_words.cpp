#include "linac/base/job/audit_words.h"

#include <fmt/format.h>

#include <vector>

namespace linac::job {
namespace {

std::string names(const std::vector<ViewMember>& members) {
  std::string text;
  for (const ViewMember& one : members)
    text += fmt::format("{}rank {} ({}, process {})", text.empty() ? "" : ", ", one.rank, one.host, one.pid);
  return text;
}

}  // namespace

std::string in_words(const AuditLine& line) {
  std::string who;
  if (!line.wrong.empty())
    who = fmt::format("{} {} wrongly", names(line.wrong), line.wrong.size() == 1 ? "computes" : "compute");
  if (!line.suspects.empty())
    who += fmt::format("{}of {} at least one computes wrongly, and nobody can tell which", who.empty() ? "" : "; ",
                       names(line.suspects));
  return fmt::format("{}: {}", who, line.what);
}

std::string clean_in_words(const AuditLine& line) {
  return line.clean_step < 0 ? "no audit of this start had found all workers right"
                             : fmt::format("an audit had last found all workers right behind step {}", line.clean_step);
}

}  // namespace linac::job
