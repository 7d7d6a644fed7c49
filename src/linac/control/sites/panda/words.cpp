#include "linac/control/sites/panda/words.h"

#include <fmt/format.h>

#include <charconv>

#include "linac/base/base/utf8.h"

namespace linac::sites {
namespace {

using job::RunState;
using nlohmann::json;

struct StatusEntry {
  const char* word;
  RunState state;
  const char* reason;
};
// As PanDA's task state diagram has them; what is not here waits for something.
constexpr StatusEntry kStatuses[] = {
    {"scouting", RunState::kRunning, "scouting: PanDA measures with the first job"},
    {"scouted", RunState::kRunning, ""},
    {"running", RunState::kRunning, ""},
    {"prepared", RunState::kRunning, ""},
    {"finishing", RunState::kRunning, "finishing"},
    {"passed", RunState::kRunning, ""},
    {"aborting", RunState::kRunning, "it is being ended"},
    {"toabort", RunState::kRunning, "it is being ended"},
    {"toretry", RunState::kRecovering, "it is going to be started again"},
    {"toincexec", RunState::kRecovering, "it is going to be started again"},
    {"rerefine", RunState::kRecovering, "it is going to be started again"},
    {"done", RunState::kSucceeded, ""},
    {"finished", RunState::kFailed, "finished: some of its jobs have failed; `linac resume` starts those again"},
    {"failed", RunState::kFailed, "all attempts of its job have failed; `linac logs` says why"},
    {"broken", RunState::kFailed, "broken: PanDA cannot make jobs of the task"},
    {"exhausted", RunState::kFailed,
     "exhausted: its jobs fail, or take too long or too much; `linac logs` says why, `linac resume` starts them again"},
    {"aborted", RunState::kCancelled, ""},
};

// Of attributes that servers spell with other capitals, or give as numbers.
std::string attribute(const json& object, std::string_view name) {
  if (!object.is_object()) return "";
  const auto equal = [&](const std::string& key) {
    return key.size() == name.size() && std::equal(key.begin(), key.end(), name.begin(), [](char a, char b) {
             return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
           });
  };
  for (const auto& [key, value] : object.items()) {
    if (!equal(key)) continue;
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number()) return value.dump();
  }
  return "";
}

// PanDA's words for people have tags of HTML.
std::string plain(const std::string& text) {
  std::string out;
  bool in_tag = false;
  for (const char c : text) {
    if (c == '<') in_tag = true;
    if (!in_tag) out += c;
    if (c == '>') in_tag = false;
  }
  return printable(out);
}

}  // namespace

Standing panda_standing(const json& task) {
  const std::string status = attribute(task, "status"), dialog = plain(attribute(task, "errorDialog"));
  Standing standing{RunState::kPending, status.empty() ? "PanDA says no status" : printable(status), {}};
  for (const StatusEntry& entry : kStatuses)
    if (status == entry.word) standing.state = entry.state, standing.reason = entry.reason;
  if (!dialog.empty() && standing.state != RunState::kSucceeded)
    standing.reason += (standing.reason.empty() ? "" : ": ") + dialog;
  standing.details.emplace_back("task", printable(attribute(task, "jediTaskID")));
  standing.details.emplace_back("status", printable(status));
  for (const char* const name : {"site", "nFiles", "nFilesFinished", "nFilesFailed"})
    if (const std::string value = attribute(task, name); !value.empty())
      standing.details.emplace_back(name, printable(value));
  return standing;
}

std::string panda_job_lines(const json& jobs) {
  std::string text;
  if (!jobs.is_array()) return text;
  for (const json& job : jobs) {
    text += fmt::format("job {}  {}  {}", printable(attribute(job, "PandaID")), printable(attribute(job, "jobStatus")),
                        printable(attribute(job, "computingSite")));
    for (const char* const part : {"transExitCode", "exeErrorDiag", "pilotErrorDiag", "jobDispatcherErrorDiag",
                                   "brokerageErrorDiag", "taskBufferErrorDiag", "supErrorDiag", "ddmErrorDiag"}) {
      const std::string value = plain(attribute(job, part));
      if (!value.empty() && value != "0" && value != "NULL") text += fmt::format("  {}: {}", part, value);
    }
    text += '\n';
  }
  return text;
}

int64_t submitted_task(const json& data, const std::string& message) {
  if (data.is_number_integer() && data.get<int64_t>() > 0) return data.get<int64_t>();
  constexpr std::string_view kBefore = "jediTaskID=";
  const size_t found = message.find(kBefore);
  if (found == std::string::npos) return 0;
  int64_t number = 0;
  const char* const begin = message.data() + found + kBefore.size();
  const auto [end, error] = std::from_chars(begin, message.data() + message.size(), number);
  return error == std::errc{} && number > 0 ? number : 0;
}

}  // namespace linac::sites
