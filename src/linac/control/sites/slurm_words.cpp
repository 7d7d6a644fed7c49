#include "linac/control/sites/slurm_words.h"

#include <array>
#include <sstream>
#include <string_view>

#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

using job::RunState;

// squeue(1), "JOB REASON CODES".
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kReasons{{
    {"Resources", "it is next, and waits for nodes"},
    {"Priority", "others go before it"},
    {"Dependency", "another job of this name goes on"},
    {"BeginTime", "it was put back into the queue; Slurm waits a moment before it starts it again"},
    {"PartitionTimeLimit", "its time is beyond the partition's limit; launch with a shorter --time"},
    {"PartitionNodeLimit", "it wants more nodes than the partition has; fewer --workers"},
    {"PartitionDown", "the partition is down; ask the site"},
    {"PartitionInactive", "the partition is closed; ask the site"},
    {"ReqNodeNotAvail",
     "the nodes that it needs are down or reserved, for a maintenance perhaps; a shorter --time may fit before it"},
    {"InvalidAccount", "the account may not use this; look at account and partition of the site"},
    {"InvalidQOS", "the account may not use this qos; look at qos of the site"},
    {"JobHeldUser", "it is held; `scontrol release` lets it go"},
    {"JobHeldAdmin", "the site holds it; ask there"},
    {"launch failed requeued held", "it could not be started on a node; ask the site"},
}};

bool begins(const std::string& text, std::string_view word) {
  return std::string_view(text).starts_with(word);
}

}  // namespace

SlurmJob slurm_job(const std::string& line) {
  SlurmJob job;
  std::istringstream fields(line);
  for (std::string* field : {&job.id, &job.submitted, &job.state, &job.reason, &job.hosts, &job.elapsed})
    if (!std::getline(fields, *field, '|')) break;
  return job;
}

std::vector<std::string> member_lines(std::vector<std::string> lines, int index) {
  if (index > 0)
    std::erase_if(lines, [end = "_" + std::to_string(index)](const std::string& line) {
      return !slurm_job(line).id.ends_with(end);
    });
  return lines;
}

SlurmJob meant_job(const std::vector<std::string>& lines, const std::string& submitted) {
  const size_t space = submitted.find(' ');
  const std::string since = space == std::string::npos ? "" : submitted.substr(space + 1);
  SlurmJob found;
  for (const std::string& line : lines) {
    SlurmJob job = slurm_job(line);
    if (!job.id.empty() && job.submitted >= since && job.submitted >= found.submitted) found = std::move(job);
  }
  return found;
}

std::string reason_words(const std::string& reason) {
  if (reason.empty() || reason == "None") return "";
  for (const auto& [word, meaning] : kReasons)
    if (begins(reason, word)) return reason + ": " + std::string(meaning);
  if (begins(reason, "QOS") || begins(reason, "Assoc"))
    return reason + ": a limit of your account or qos is used up; it waits until something of yours ends";
  return reason;
}

Standing standing_of(const SlurmJob& job, int exit, bool cancelled) {
  Standing standing;
  const std::string& state = job.state;
  const auto is = [&](std::string_view word) { return begins(state, word); };
  if (is("PENDING") || is("REQUEUED")) {
    standing = {RunState::kPending, reason_words(job.reason), {}};
  } else if (is("CONFIGURING")) {
    standing = {RunState::kStarting, "its nodes are being made ready", {}};
  } else if (is("RUNNING") || is("COMPLETING") || is("SUSPENDED") || is("STOPPED")) {
    standing = {RunState::kRunning, is("RUNNING") ? "" : state, {}};
    if (cancelled) standing.reason = "it was asked to stop; cancel again to end it at once";
  } else if (exit >= 0) {
    standing = standing_of_end(exit, cancelled);
  } else if (is("COMPLETED")) {
    standing.state = RunState::kSucceeded;
  } else if (is("CANCELLED")) {
    standing = {RunState::kCancelled, cancelled ? "" : state + ", not by linac", {}};
  } else if (is("TIMEOUT")) {
    standing = {
        RunState::kFailed, "TIMEOUT: its time was over before it had stopped; raise notice of the site, or time", {}};
  } else if (is("OUT_OF_MEMORY")) {
    standing = {RunState::kFailed, "OUT_OF_MEMORY: raise memory of the site, or lower train.batch", {}};
  } else if (is("NODE_FAIL") || is("PREEMPTED") || is("BOOT_FAIL")) {
    standing = {RunState::kLost, state, {}};
  } else {
    standing = {RunState::kFailed, state, {}};
  }
  standing.details.emplace_back("job", job.id);
  if (!job.hosts.empty()) standing.details.emplace_back("hosts", job.hosts);
  if (!job.elapsed.empty()) standing.details.emplace_back("elapsed", job.elapsed);
  return standing;
}

}  // namespace linac::sites
