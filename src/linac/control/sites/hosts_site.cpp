#include "linac/control/sites/hosts_site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <future>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/script/script_files.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

// "linac: host running|ended|lost|none", and what the ends of its workers mean.
std::string state_script(const Record& record, size_t index) {
  return fmt::format(
      "{0}{1}"
      "[ ! -e cancelled ] || echo 'linac: cancelled'\n"
      "if [ ! -e pid-{2} ]; then echo 'linac: host none'; exit 0; fi\n"
      "if flock -s -n lock-{2} true; then\n"  // two that ask do not see each other
      "  if [ -e exit-{2} ]; then echo 'linac: host ended'; else echo 'linac: host lost'; fi\n"
      "else echo 'linac: host running'; fi\n"
      "attempt=0; [ ! -s attempt ] || read -r attempt < attempt\n"
      "echo \"linac: end $(end_of_run \"$attempt\")\"\n{3}",
      enter_folder_script(record.folder, record.label, "echo 'linac: host none'"), end_of_run_function(), index,
      why_script());
}

// What a script needed and nobody needs any more: secrets above all.
constexpr const char* kTidyUp = "rm -rf private packages packages.lock packages.done; ";

// Scripts start processes that leave their group, and may not hold the lock: all that are of this launch have one of
// the two, or its variable.
constexpr const char* kKillHolders =
    "kill_holders() {\n"
    "  mine=LINAC_SCRIPT=$(pwd -P)/script/training-script.py\n"
    "  for process in /proc/[0-9]*; do\n"
    "    if [ \"$process/fd/9\" -ef \"$1\" ] || grep -qsF \"$mine\" \"$process/environ\"; then\n"
    "      kill -KILL \"${process#/proc/}\" 2>/dev/null\n"
    "    fi\n"
    "  done\n"
    "}\n";

// The first time it is asked to, the second time it is made to.
// `to_ask`, `to_kill`: lines before either.
std::string cancel_script(const Record& record, size_t index, const std::string& to_ask, const std::string& to_kill) {
  return (record.script ? kKillHolders : "") +
         fmt::format(
             "{0}{2}"
             "[ -e pid-{1} ] || {{ echo 'linac: did nothing'; exit 0; }}\n"
             "if flock -s -n lock-{1} true; then {3}echo 'linac: did nothing'; exit 0; fi\n"
             "{5}"
             "read -r group < pid-{1}\n"
             "holds lock-{1} \"$group\" || {{ echo 'linac: did not find'; exit 0; }}\n"
             "if [ -e asked-{1} ]; then {6}kill -KILL \"-$group\"; {4}echo 'linac: did kill'\n"
             "else : > cancelled && : > asked-{1} && kill -TERM \"-$group\" && echo 'linac: did ask'; fi\n",
             enter_folder_script(record.folder, record.label, "echo 'linac: did nothing'"), index, holds_function(),
             record.script ? kTidyUp : "", record.script ? fmt::format("kill_holders lock-{}; {}", index, kTidyUp) : "",
             to_ask, to_kill);
}

// What has been started while the rest could not be: as if it had never been.
std::string abandon_script(const Record& record, size_t index) {
  return fmt::format(
      "{0}{2}"
      "[ -e pid-{1} ] || exit 0\n"
      "read -r group < pid-{1}\n"
      "holds lock-{1} \"$group\" && kill -KILL \"-$group\"\n"
      "rm -f pid-{1} exit-{1} ends/0-*\n",
      enter_folder_script(record.folder, record.label, ":"), index, holds_function());
}

// "linac: host runs", or nothing of its end is there any more. The lock is that of who starts it.
std::string reopen_script(const Record& record, size_t index) {
  return fmt::format(
      "{0}"
      "[ -e lock-{1} ] || exit 0\n"
      "exec 9>>lock-{1} || exit 4\n"
      "flock -n 9 || {{ echo 'linac: host runs'; exit 0; }}\n"
      "rm -f pid-{1} exit-{1} asked-{1} cancelled attempt ends/* || exit 4\n",
      enter_folder_script(record.folder, record.label, ":"), index);
}

// Of hosts, in their order. Of one that does not answer, the error.
struct Answers {
  std::vector<std::optional<ShellAnswer>> of_host;
  std::string silent;  // names of those that do not answer
  std::exception_ptr error;

  void need_all() const {
    if (error) std::rethrow_exception(error);
  }
};

Answers ask_all(const std::vector<Shell>& shells, const std::string& what,
                const std::function<std::string(size_t)>& script) {
  constexpr size_t kAtOnce = 16;
  Answers answers;
  for (size_t begin = 0; begin < shells.size(); begin += kAtOnce) {
    std::vector<std::future<ShellAnswer>> coming;
    for (size_t i = begin; i < std::min(begin + kAtOnce, shells.size()); ++i)
      coming.push_back(std::async(std::launch::async, [&, i] { return shells[i].need(what, script(i)); }));
    for (auto& one : coming) {
      const size_t host = answers.of_host.size();
      auto& answer = answers.of_host.emplace_back();
      try {
        answer = one.get();
      } catch (const Error&) {
        answers.silent += (answers.silent.empty() ? "" : ", ") + shells[host].name();
        if (!answers.error) answers.error = std::current_exception();
      }
    }
  }
  return answers;
}

std::vector<std::string> hosts_of(const Record& record) {
  return record.hosts.empty() ? std::vector<std::string>{""} : record.hosts;
}

}  // namespace

std::string HostsSite::worker(const Launch& launch, const Share& share) const {
  std::vector<std::string> before;
  if (launch.seconds_max > 0)
    before = {"timeout", "--foreground", "--preserve-status", "--signal=TERM", std::to_string(launch.seconds_max)};
  if (launch.script) return script_worker(common(), launch, "", before);
  return worker_script(common(), program(), launch, share.workers, before);
}

std::string HostsSite::host_script(const Launch& launch, const Share& share, size_t index) const {
  const std::string folder = launch_folder(common().folder, launch.label);
  std::string text = fmt::format(
      "#!/bin/sh\n# The workers of {} on {}, by linac {}.\ncd {} || exit 4\n"
      "printf '%s\\n' $$ > pid-{}.part && mv pid-{}.part pid-{} || exit 4\ntrap : TERM INT USR1\n",
      launch.label, share.host.empty() ? "this host" : share.host, kVersion, shell_word(folder), index, index, index);
  // Whoever launches from within an allocation or another launcher does not hand its place on.
  text += fmt::format(
      "for name in $(env | sed -n "
      "'s/^\\({}OMPI_[A-Z_]*\\|PMI_[A-Z_]*\\|PMIX_[A-Z_]*\\|MPI_LOCAL[A-Z]*\\|TF_CONFIG\\|RANK\\|"
      "WORLD_SIZE\\|LINAC_SPAWN_[A-Z_]*\\|LOCAL_RANK\\|LOCAL_WORLD_SIZE\\|MASTER_ADDR\\|MASTER_PORT\\|LINAC_RUN_KEY\\|"
      "LINAC_RUN_KEY_FILE\\|LINAC_GROUPS\\|LINAC_GROUP\\|LINAC_RELAY\\|LINAC_RELAY_PASS\\|LINAC_MEET_TIMEOUT\\)=.*/\\1/"
      "p'); do unset "
      "\"$name\"; done\n",
      share.in_allocation ? "" : "SLURM_[A-Z_]*\\|");
  text += environment_script(common());
  if (share.with_key) text += fmt::format("export LINAC_RUN_KEY_FILE={}\n", shell_word(folder + "/private/key"));
  text += end_of_run_function();
  text += "all=\nrun() { place=$1; shift; env \"$@\" sh ./worker.sh \"$place\" & all=\"$all $!\"; }\n";
  // The setup takes its time, and nobody who was told to stop meanwhile heard it.
  text += "if [ -e cancelled ]; then echo 'linac launch: cancelled before its workers began'; exit 0; fi\n";
  text += share.starts;
  text += fmt::format(
      "for one in $all; do while kill -0 \"$one\" 2>/dev/null; do wait \"$one\"; done; done\n{1}"
      "end_of_run \"${{attempt:-0}}\" > exit-{0}.part && mv exit-{0}.part exit-{0}\n",
      index, launch.script ? std::string(kTidyUp) + "\n" : "");
  return text;
}

std::string HostsSite::start_script(const Launch& launch, const Share& share, size_t index) const {
  std::string text = fmt::format(
      "{0}"
      "exec 9>lock-{1} || exit 4\n"
      "{2}"
      "tries=0\n"  // whoever has the lock without having started anything does so now, or fails
      "until flock -n 9 || [ -e pid-{1} ] || [ $tries = 200 ]; do sleep 0.05; tries=$((tries + 1)); done\n"
      "if [ -e pid-{1} ]; then echo 'linac: started before'; exit 0; fi\n"
      "[ $tries -lt 200 ] || {{ echo 'somebody else starts it' >&2; exit 4; }}\n",
      make_folder_script(common().folder, launch.label), index, same_job_script(launch));
  if (works_on_shells()) text += not_here_script(excluded(common(), launch));
  if (share.with_key) text += write_file_script("private/key", launch.key + "\n");
  text += write_file_script("job.yaml", launch.job);
  text += write_script_files(launch);
  text += write_file_script("worker.sh", worker(launch, share));
  text += write_file_script(fmt::format("host-{}.sh", index), host_script(launch, share, index));
  // The lock (9) goes to the script and its workers.
  text += fmt::format(
      "umask \"$mask\"\n"
      "setsid sh ./host-{0}.sh </dev/null >>log-{0}.txt 2>&1 &\n"
      "tries=0\n"
      "while [ ! -e pid-{0} ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done\n"
      "[ -e pid-{0} ] || {{ echo 'the script of the host does not start' >&2; exit 4; }}\n"
      "echo 'linac: started now'\n",
      index);
  return text;
}

std::vector<PlannedStep> HostsSite::plan(const Launch& launch) const {
  const auto all = shares(launch);
  const std::string folder = launch_folder(common().folder, launch.label);
  std::vector<PlannedStep> steps{{folder + "/job.yaml", launch.job}};
  if (all.front().with_key) steps.push_back({folder + "/private/key", "(64 hexadecimal digits that nobody sees)\n"});
  for (PlannedStep& step : planned_script_files(launch, folder)) steps.push_back(std::move(step));
  steps.push_back({folder + "/worker.sh", worker(launch, all.front())});
  for (size_t i = 0; i < all.size(); ++i) {
    steps.push_back({fmt::format("{}/host-{}.sh", folder, i), host_script(launch, all[i], i)});
    steps.push_back({"then, by " + shell(all[i].host).command(), fmt::format("setsid sh ./host-{}.sh\n", i)});
  }
  return steps;
}

std::vector<Finding> HostsSite::check(const job::Job* job) const {
  std::vector<Finding> all;
  for (const std::string& host : all_hosts()) {
    for (Finding& finding : findings_at(shell(host), "cannot be reached", check_script(common(), job)))
      all.push_back(std::move(finding));
  }
  return all;
}

// All of them have what it needs, and one tries it.
std::vector<Finding> HostsSite::look_at_script(const Launch& launch) const {
  std::vector<Finding> all;
  for (const Share& share : shares(launch)) {
    const auto which = all.empty() ? ScriptCheck::kAll : ScriptCheck::kBegin;
    for (Finding& finding : findings_at(shell(share.host), "the script cannot be looked at",
                                        check_script_script(common(), *launch.script, which)))
      all.push_back(std::move(finding));
  }
  return all;
}

std::string HostsSite::submit(const Launch& launch) const {
  const auto all = shares(launch);
  // All of them, before the first one is started: the workers would wait for each other.
  std::vector<Shell> shells;
  for (const Share& share : all) shells.push_back(shell(share.host));
  if (all.size() > 1) ask_all(shells, "cannot be reached", [](size_t) { return "true"; }).need_all();
  if (!launch.script) prepare(shells);
  const Record record{
      launch.label, name(), common().kind, common().folder, launch.out, "", {}, launch.script.has_value()};
  std::vector<size_t> by_us;  // what an earlier client has started goes on, whatever happens to this one
  for (size_t i = 0; i < all.size(); ++i) {
    try {
      const ShellAnswer answer = shells[i].need("the workers cannot be started there", start_script(launch, all[i], i));
      if (answer.last("started") == "now") by_us.push_back(i);
    } catch (const Error&) {
      for (const size_t started : by_us) {
        try {
          shells[started].need("workers are left there", abandon_script(record, started));
        } catch (const Error& left) {
          log::error(left.what());
        }
      }
      throw;
    }
  }
  return launch.label;
}

Standing HostsSite::standing(const Record& record) const {
  const auto hosts = hosts_of(record);
  std::vector<int> ends;
  std::vector<std::string> lost;
  std::string why;
  size_t running = 0;
  bool cancelled = false;
  std::vector<Shell> shells;
  for (const std::string& host : hosts) shells.push_back(shell(host));
  const auto answers = ask_all(shells, "cannot be asked", [&](size_t i) { return state_script(record, i); });
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!answers.of_host[i]) continue;
    const ShellAnswer& answer = *answers.of_host[i];
    const std::string state = answer.last("host");
    cancelled = cancelled || !answer.said("cancelled").empty();
    running += state == "running" ? 1 : 0;
    if (state == "none" || state == "lost") lost.push_back(shells[i].name());
    if (const int end = status_in(answer.last("end")); end >= 0) ends.push_back(end);
    if (why.empty()) why = answer.last("why");
  }
  Standing standing;
  const int end = end_of_run(ends);
  // All workers of linac end together: what one host says of a success, or behind a cancel, is so on all.
  const bool enough = running > 0 || (!record.script && (end == 0 || (cancelled && end >= 0)));
  if (!enough) answers.need_all();
  const std::string silent = answers.silent.empty() ? "" : answers.silent + " does not answer";
  if (running > 0) {
    standing.state = job::RunState::kRunning;
    if (cancelled) standing.reason = "it was asked to stop; cancel again to end it at once";
    standing.reason += (standing.reason.empty() || silent.empty() ? "" : "; ") + silent;
    standing.details.emplace_back("hosts", fmt::format("{} of {}", running, hosts.size()));
    return standing;
  }
  if (end >= 0) {
    standing = standing_of_end(end, cancelled);
    standing.reason += (standing.reason.empty() || silent.empty() ? "" : "; ") + silent;
    if (record.script) tell_of_script(standing, why);
    return standing;
  }
  if (cancelled) return {job::RunState::kCancelled, "killed", {}};
  return {job::RunState::kLost, fmt::format("nothing of it runs or has ended on {}", fmt::join(lost, ", ")), {}};
}

std::string HostsSite::cancel(const Record& record) const {
  const std::vector<Shell> shells = shells_of_run(record);
  const Answers answers = ask_all(shells, "cannot be told to stop",
                                  [&](size_t i) { return cancel_script(record, i, to_ask(), to_kill()); });
  int64_t asked = 0, killed = 0, elsewhere = 0;
  for (const auto& answer : answers.of_host) {
    const std::string did = answer ? answer->last("did") : "";
    asked += did == "ask" ? 1 : 0;
    killed += did == "kill" ? 1 : 0;
    elsewhere += did == "not find" ? 1 : 0;
  }
  const std::string silent = answers.silent.empty() ? "" : "; " + answers.silent + " does not answer";
  if (killed > 0) return "killed on " + plural(killed, "host") + silent;
  if (asked > 0) return (record.script ? "asked to stop" : "asked to write a checkpoint and stop") + silent;
  answers.need_all();
  return elsewhere > 0 ? "it runs, but not on the host that was asked; cancel it from where it was launched"
                       : "nothing of it runs";
}

void HostsSite::fetch(const Record& record, const std::string& folder) const {
  const auto hosts = hosts_of(record);
  for (const std::string& host : hosts)
    shell(host).unpack("what the script has written cannot be fetched", pack_script(record),
                       hosts.size() == 1 ? folder : folder + "/" + host);
}

void HostsSite::remove(const Record& record) const {
  for (const std::string& host : hosts_of(record)) shell(host).need("it cannot be removed", remove_script(record));
}

std::vector<Shell> HostsSite::shells_of_run(const Record& record) const {
  std::vector<Shell> shells;
  for (const std::string& host : hosts_of(record)) shells.push_back(shell(host));
  return shells;
}

void HostsSite::reopen(const Record& record) const {
  const auto answers =
      ask_all(shells_of_run(record), "cannot be asked", [&](size_t i) { return reopen_script(record, i); });
  answers.need_all();
  for (const auto& answer : answers.of_host)
    if (answer->last("host") == "runs")
      throw user_error(fmt::format("{}: {} runs there; cancel it, or wait for its end", place(), record.label));
}

std::string HostsSite::log(const Record& record, int64_t from) const {
  return shell(hosts_of(record).front())
      .need("the log cannot be read", log_script(launch_folder(record.folder, record.label) + "/log-0.txt", from))
      .out;
}

}  // namespace linac::sites
