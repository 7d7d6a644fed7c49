#include "linac/train/workers/run_end.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "linac/base/job/exit_codes.h"

namespace linac::launch {
namespace {

constexpr int kPeerLost = static_cast<int>(ErrorCode::kPeerLost);
constexpr int kPreempted = static_cast<int>(ErrorCode::kPreempted);
constexpr size_t kShownTailLines = 10;

bool is_clean(const WorkerEnd& end) {
  return end.status() == 0 || end.status() == kPreempted;
}

std::string meaning_of(int exit_code) {
  if (const std::string word = job::word_of_status(exit_code); !word.empty()) return word;
  if (exit_code == 127) return "the program could not be started";
  return "no meaning in linac";
}

std::string indented(const std::string& text) {
  std::string result;
  for (size_t first = 0; first <= text.size();) {
    const size_t newline = std::min(text.find('\n', first), text.size());
    result += "\n  " + text.substr(first, newline - first);
    first = newline + 1;
  }
  return result;
}

const WorkerEnd* root_cause(const std::vector<WorkerEnd>& ends) {
  const auto first = [&](auto&& matches) -> const WorkerEnd* {
    const auto found = std::find_if(ends.begin(), ends.end(),
                                    [&](const WorkerEnd& end) { return !end.ended_by_launcher && matches(end); });
    return found == ends.end() ? nullptr : &*found;
  };
  if (const auto* end = first([](const WorkerEnd& e) { return !is_clean(e) && e.status() != kPeerLost; })) return end;
  if (const auto* end = first([](const WorkerEnd& e) { return e.status() == kPreempted; })) return end;
  return first([](const WorkerEnd& e) { return e.status() == kPeerLost; });
}

RunEnd blame(const WorkerEnd& cause, const std::vector<WorkerEnd>& ends) {
  RunEnd whole{cause.status(), fmt::format("linac: rank {} {}", cause.rank, describe(cause))};
  if (!cause.error.empty()) {
    whole.message += indented(cause.error);
  } else if (!cause.tail.empty()) {
    whole.message += ", its last output:";
    const size_t shown = std::min(kShownTailLines, cause.tail.size());
    for (size_t i = cause.tail.size() - shown; i < cause.tail.size(); ++i) whole.message += indented(cause.tail[i]);
  }
  std::vector<const WorkerEnd*> others;
  for (const auto& end : ends) {
    if (end.rank != cause.rank) others.push_back(&end);
  }
  std::sort(others.begin(), others.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
  std::string line;
  for (const auto* end : others) {
    line += fmt::format("{} rank {} {}", line.empty() ? "" : ",", end->rank, describe(*end));
  }
  if (!line.empty()) whole.message += "\n  then" + line;
  return whole;
}

RunEnd judge_stopped(const std::vector<WorkerEnd>& ends, int stop_signal) {
  const WorkerEnd* const own_failure = root_cause(ends);
  const auto stopped = [](const WorkerEnd& end) {
    return is_clean(end) || end.status() == kPeerLost || end.signal == SIGTERM || end.signal == SIGINT ||
           end.exit_code == job::kSignalBase + SIGINT || end.ended_by_launcher;
  };
  if (own_failure != nullptr) {
    const auto failed = std::find_if_not(ends.begin(), ends.end(), stopped);
    if (failed != ends.end()) return blame(*failed, ends);
  }
  for (const auto& end : ends) {
    if (end.rank == 0 && !end.ended_by_launcher && end.status() == kPreempted) return {kPreempted, ""};
  }
  for (const auto& end : ends) {
    if (end.ended_by_launcher) {
      return {job::kSignalBase + SIGKILL,
              fmt::format("linac: rank {} did not stop in time and was killed; the last checkpoint stands", end.rank)};
    }
  }
  return {job::kSignalBase + stop_signal,
          fmt::format("linac: stopped by signal {} ({}) before a new checkpoint was written", stop_signal,
                      strsignal(stop_signal))};
}

}  // namespace

std::string describe(const WorkerEnd& end) {
  if (end.ended_by_launcher) return "was ended by the launcher";
  if (end.signal == SIGKILL) {
    return "was killed by signal 9 (Killed: often the kernel when memory runs out; use fewer workers or a smaller "
           "batch)";
  }
  if (end.signal != 0) return fmt::format("was killed by signal {} ({})", end.signal, strsignal(end.signal));
  if (end.exit_code == 0) return "ended well";
  return fmt::format("ended with exit code {} ({})", end.exit_code, meaning_of(end.exit_code));
}

RunEnd judge(const std::vector<WorkerEnd>& all, int stop_signal) {
  std::vector<WorkerEnd> ends = all;
  std::erase_if(ends, [](const WorkerEnd& end) { return end.forgiven; });
  if (ends.empty()) ends = all;
  if (std::all_of(ends.begin(), ends.end(), is_clean)) {
    const bool preempted =
        std::any_of(ends.begin(), ends.end(), [](const auto& end) { return end.status() == kPreempted; });
    return {preempted ? kPreempted : 0, ""};
  }
  const auto late = std::find_if(ends.begin(), ends.end(), [](const WorkerEnd& end) { return end.ended_by_launcher; });
  const bool complete = std::any_of(ends.begin(), ends.end(), [](const WorkerEnd& end) { return end.status() == 0; });
  if (complete && std::all_of(ends.begin(), ends.end(),
                              [](const WorkerEnd& end) { return end.status() == 0 || end.ended_by_launcher; }))
    return {0, fmt::format("linac: the run is complete; rank {} did not end by itself and was ended", late->rank)};
  if (stop_signal != 0) return judge_stopped(ends, stop_signal);
  const WorkerEnd* const cause = root_cause(ends);
  LINAC_CHECK(cause != nullptr);  // the launcher ends workers only after one has failed by itself
  return blame(*cause, ends);
}

}  // namespace linac::launch
