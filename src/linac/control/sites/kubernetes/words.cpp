#include "linac/control/sites/kubernetes/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "linac/base/base/plural.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/exit_codes.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

using job::RunState;
using nlohmann::json;

constexpr size_t kShownMax = 8;  // workers that have ended, events

int index_of(const json& pod) {
  const std::string text = text_of(pod, "metadata", "annotations", "batch.kubernetes.io/job-completion-index");
  int index = -1;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

std::string phase_of(const json& pod) {
  return text_of(pod, "status", "phase");
}

std::string condition(const json& object, const char* type, const char* key) {
  for (const json& one : member(object, "status", "conditions"))
    if (text_of(one, "type") == type && text_of(one, "status") == "True") return text_of(one, key);
  return "";
}

bool holds(const json& object, const char* type) {
  for (const json& one : member(object, "status", "conditions"))
    if (text_of(one, "type") == type && text_of(one, "status") == "True") return true;
  return false;
}

json container_state(const json& pod) {
  const json containers = member(pod, "status", "containerStatuses");
  return containers.is_array() && !containers.empty() ? member(containers[0], "state") : json();
}

// -1 if it has not ended by itself.
int exit_code(const json& pod) {
  const json code = member(container_state(pod), "terminated", "exitCode");
  return code.is_number_integer() ? code.get<int>() : -1;
}

bool deleted(const json& object) {
  return !text_of(object, "metadata", "deletionTimestamp").empty();
}

bool waits(const json& pod) {
  return phase_of(pod) == "Pending" && !deleted(pod);
}

std::string joined(const std::string& reason, const std::string& message) {
  if (reason.empty() || message.empty()) return printable(reason + message);
  return printable(reason + ": " + message);
}

// "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
std::string why_it_waits(const json& pod, const std::vector<json>& events) {
  for (const json& one : member(pod, "status", "conditions"))
    if (text_of(one, "type") == "PodScheduled" && text_of(one, "status") == "False")
      return joined(text_of(one, "reason"), text_of(one, "message"));
  const std::string reason = text_of(container_state(pod), "waiting", "reason");
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing")
    return joined(reason, text_of(container_state(pod), "waiting", "message"));
  const std::string uid = text_of(pod, "metadata", "uid");
  for (auto event = events.rbegin(); event != events.rend(); ++event)
    if (text_of(*event, "involvedObject", "uid") == uid && text_of(*event, "type") == "Warning")
      return joined(text_of(*event, "reason"), text_of(*event, "message"));
  return reason.empty() ? "" : "its container is being made";
}

// "exit status 137 (OOMKilled) on n04"
std::string end_words(const json& pod) {
  std::string words;
  const int code = exit_code(pod);
  const std::string why = text_of(container_state(pod), "terminated", "reason");
  if (code >= 0) {
    words = fmt::format("exit status {}", code);
    const std::string meaning = job::word_of_status(code);
    if (!meaning.empty()) words += ", " + meaning;
    if (why == "OOMKilled") words += ", OOMKilled: raise memory of the site, or lower train.batch";
  }
  const std::string disruption = condition(pod, "DisruptionTarget", "reason");
  const std::string gone = disruption.empty() ? text_of(pod, "status", "reason") : disruption;
  if (!gone.empty()) words += (words.empty() ? "" : ", ") + printable(gone);
  if (words.empty()) words = "lost";
  const std::string node = text_of(pod, "spec", "nodeName");
  return node.empty() ? words : words + " on " + printable(node);
}

// What it printed last.
std::string last_line(const json& pod) {
  std::string text = text_of(container_state(pod), "terminated", "message");
  while (text.ends_with('\n')) text.pop_back();
  const std::string line = text.substr(text.rfind('\n') + 1);
  return line.empty() || exit_code(pod) <= 0 ? "" : printable(line);
}

std::vector<const json*> in_order(const std::vector<json>& pods) {
  std::vector<const json*> all;
  for (const json& pod : pods) all.push_back(&pod);
  std::sort(all.begin(), all.end(), [](const json* a, const json* b) {
    return std::tuple(index_of(*a), text_of(*a, "metadata", "creationTimestamp"), text_of(*a, "metadata", "name")) <
           std::tuple(index_of(*b), text_of(*b, "metadata", "creationTimestamp"), text_of(*b, "metadata", "name"));
  });
  return all;
}

Standing failed(const json& job, const std::vector<const json*>& pods) {
  std::string reason = condition(job, "Failed", "reason"), message = condition(job, "Failed", "message");
  if (reason.empty()) reason = condition(job, "FailureTarget", "reason");
  if (message.empty()) message = condition(job, "FailureTarget", "message");
  if (reason == "DeadlineExceeded")
    return {RunState::kCancelled, "its time was over: stopped after a checkpoint where it had begun", {}};
  // A worker that was at fault, else what all ends mean together.
  std::vector<int> ends;
  const json* guilty = nullptr;
  for (const json* pod : pods) {
    const int code = exit_code(*pod);
    if (code < 0) continue;
    ends.push_back(code);
    const job::ExitClass kind = job::class_of_status(code);
    if (guilty == nullptr && (kind == job::ExitClass::kRefused || kind == job::ExitClass::kFailed)) guilty = pod;
  }
  const int end = guilty != nullptr ? exit_code(*guilty) : end_of_run(ends);
  if (end <= 0) return {RunState::kFailed, joined(reason, message), {}};
  Standing standing = standing_of_end(end, false);
  if (reason != "PodFailurePolicy") standing.reason += "; " + joined(reason, "");
  if (guilty != nullptr)
    if (const std::string line = last_line(*guilty); !line.empty()) standing.reason += ": " + line;
  return standing;
}

struct Counts {
  size_t running = 0, waiting = 0, leaving = 0, succeeded = 0, failed = 0;
};

Counts counts_of(const std::vector<const json*>& pods) {
  Counts counts;
  for (const json* pod : pods) {
    const std::string phase = phase_of(*pod);
    if (phase == "Succeeded")
      ++counts.succeeded;
    else if (phase == "Failed")
      ++counts.failed;
    else if (deleted(*pod))
      ++counts.leaving;
    else
      ++(phase == "Running" ? counts.running : counts.waiting);
  }
  return counts;
}

std::string counts_words(const Counts& counts) {
  std::string words;
  const auto add = [&](size_t number, const char* what) {
    if (number > 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", number, what);
  };
  add(counts.running, "running");
  add(counts.waiting, "waiting");
  add(counts.leaving, "stopping");
  add(counts.succeeded, "done");
  add(counts.failed, "ended");
  return words;
}

// Of the Job: that no pod can be made, for a quota perhaps.
std::string why_no_pod(const json& job, const std::vector<json>& events) {
  for (auto event = events.rbegin(); event != events.rend(); ++event)
    if (text_of(*event, "involvedObject", "uid") == text_of(job, "metadata", "uid") &&
        text_of(*event, "type") == "Warning")
      return joined(text_of(*event, "reason"), text_of(*event, "message"));
  return "";
}

Standing unfinished(const json& job, const std::vector<json>& pods, const Counts& counts,
                    const std::vector<json>& events) {
  const json suspended = member(job, "spec", "suspend");
  if (suspended.is_boolean() && suspended.get<bool>()) {
    const std::string queue = text_of(job, "metadata", "labels", "kueue.x-k8s.io/queue-name");
    return {RunState::kPending,
            queue.empty() ? "it was not begun: the same `linac launch` goes on with it"
                          : "it waits in the queue " + printable(queue) + " of Kueue",
            {}};
  }
  const json* waiting = waiting_pod(pods);
  std::string why = waiting == nullptr ? why_no_pod(job, events) : why_it_waits(*waiting, events);
  if (counts.running > 0) {
    if (counts.waiting > 0)
      why =
          fmt::format("{} not there yet{}{}", plural(int64_t(counts.waiting), "worker"), why.empty() ? "" : ": ", why);
    return {RunState::kRunning, why, {}};
  }
  if (counts.failed + counts.leaving > 0)
    return {RunState::kRecovering, why.empty() ? "its workers are started again" : why, {}};
  return {why == "its container is being made" ? RunState::kStarting : RunState::kPending, why, {}};
}

void add_details(Standing& standing, const json& job, const std::vector<const json*>& pods, const Counts& counts,
                 const std::vector<json>& events) {
  standing.details.emplace_back(
      "job", fmt::format("{}/{}", text_of(job, "metadata", "namespace"), text_of(job, "metadata", "name")));
  if (const std::string words = counts_words(counts); !words.empty()) standing.details.emplace_back("pods", words);
  size_t shown = 0;
  for (const json* pod : pods) {
    if (phase_of(*pod) != "Failed" || shown++ >= kShownMax) continue;
    const std::string line = last_line(*pod);
    standing.details.emplace_back(fmt::format("worker {}", index_of(*pod)),
                                  end_words(*pod) + (line.empty() ? "" : ": " + line));
  }
  if (shown > kShownMax) standing.details.emplace_back("ends", fmt::format("and {} more", shown - kShownMax));
  std::map<std::string, std::string> latest;  // of each reason
  for (const json& event : events)
    if (text_of(event, "type") == "Warning") latest[text_of(event, "reason")] = text_of(event, "message");
  size_t told = 0;
  for (const auto& [reason, message] : latest) {
    const std::string words = joined(reason, message);
    if (words != standing.reason && told++ < kShownMax)
      standing.details.emplace_back(fmt::format("event {}", told), words);
  }
}

}  // namespace

const json* waiting_pod(const std::vector<json>& pods) {
  for (const json* pod : in_order(pods))
    if (waits(*pod)) return pod;
  return nullptr;
}

std::vector<std::string> pods_of_first(const std::vector<json>& pods) {
  std::vector<std::string> names;
  for (const json* pod : in_order(pods))
    if (index_of(*pod) == 0) names.push_back(text_of(*pod, "metadata", "name"));
  return names;
}

Standing kubernetes_standing(const json& job, const std::vector<json>& pods, const std::vector<json>& events) {
  const std::vector<const json*> ordered = in_order(pods);
  const Counts counts = counts_of(ordered);
  Standing standing;
  if (holds(job, "Complete") || holds(job, "SuccessCriteriaMet"))
    standing.state = RunState::kSucceeded;
  else if (deleted(job))
    standing = {RunState::kRunning, "it was asked to stop; cancel again to end it at once", {}};
  else if (holds(job, "Failed") || holds(job, "FailureTarget"))
    standing = failed(job, ordered);
  else
    standing = unfinished(job, pods, counts, events);
  add_details(standing, job, ordered, counts, events);
  return standing;
}

}  // namespace linac::sites
