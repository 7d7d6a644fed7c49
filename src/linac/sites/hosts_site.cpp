#include "linac/sites/hosts_site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <future>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/plural.h"
#include "linac/base/shell_word.h"
#include "linac/base/version.h"
#include "linac/sites/scripts.h"

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
      "echo \"linac: end $(end_of_run 0)\"\n",
      enter_folder_script(record.folder, record.label, "echo 'linac: host none'"), end_of_run_function(), index);
}

// The first time it is asked to, the second time it is made to.
std::string cancel_script(const Record& record, size_t index) {
  return fmt::format(
      "{0}{2}"
      "[ -e pid-{1} ] || {{ echo 'linac: did nothing'; exit 0; }}\n"
      "if flock -s -n lock-{1} true; then echo 'linac: did nothing'; exit 0; fi\n"
      "read -r group < pid-{1}\n"
      "holds lock-{1} \"$group\" || {{ echo 'linac: did not find'; exit 0; }}\n"
      "if [ -e asked-{1} ]; then kill -KILL \"-$group\"; echo 'linac: did kill'\n"
      "else : > cancelled && : > asked-{1} && kill -TERM \"-$group\" && echo 'linac: did ask'; fi\n",
      enter_folder_script(record.folder, record.label, "echo 'linac: did nothing'"), index, holds_function());
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

// The answers of all, in their order; the error of the first that has none.
std::vector<ShellAnswer> ask_all(const std::vector<Shell>& shells, const std::string& what,
                                 const std::function<std::string(size_t)>& script) {
  constexpr size_t kAtOnce = 16;
  std::vector<ShellAnswer> answers;
  for (size_t begin = 0; begin < shells.size(); begin += kAtOnce) {
    std::vector<std::future<ShellAnswer>> coming;
    for (size_t i = begin; i < std::min(begin + kAtOnce, shells.size()); ++i)
      coming.push_back(std::async(std::launch::async, [&, i] { return shells[i].need(what, script(i)); }));
    for (auto& answer : coming) answers.push_back(answer.get());
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
  return worker_script(common(), launch, share.workers, before);
}

std::string HostsSite::host_script(const Launch& launch, const Share& share, size_t index) const {
  const std::string folder = launch_folder(common().folder, launch.label);
  std::string text = fmt::format(
      "#!/bin/sh\n# The workers of {} on {}, by linac {}.\ncd {} || exit 4\n"
      "printf '%s\\n' $$ > pid-{}.part && mv pid-{}.part pid-{} || exit 4\ntrap : TERM INT USR1\n",
      launch.label, share.host.empty() ? "this host" : share.host, kVersion, shell_word(folder), index, index, index);
  // Whoever launches from within an allocation or another launcher does not hand its place on.
  text +=
      "for name in $(env | sed -n "
      "'s/"
      "^\\(SLURM_[A-Z_]*\\|OMPI_[A-Z_]*\\|TF_CONFIG\\|RANK\\|WORLD_SIZE\\|LOCAL_RANK\\|LOCAL_WORLD_SIZE\\|MASTER_"
      "ADDR\\|MASTER_PORT\\|LINAC_RUN_KEY\\|LINAC_RUN_KEY_FILE\\)=.*/\\1/p'); do unset \"$name\"; done\n";
  text += environment_script(common());
  if (share.with_key) text += fmt::format("export LINAC_RUN_KEY_FILE={}\n", shell_word(folder + "/private/key"));
  text += end_of_run_function();
  text += "all=\nrun() { place=$1; shift; env \"$@\" sh ./worker.sh \"$place\" & all=\"$all $!\"; }\n";
  // The setup takes its time, and nobody who was told to stop meanwhile heard it.
  text += "if [ -e cancelled ]; then echo 'linac launch: cancelled before its workers began'; exit 0; fi\n";
  text += share.starts;
  text += fmt::format(
      "for one in $all; do while kill -0 \"$one\" 2>/dev/null; do wait \"$one\"; done; done\n"
      "end_of_run 0 > exit-{}.part && mv exit-{}.part exit-{}\n",
      index, index, index);
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
  if (share.with_key) text += write_file_script("private/key", launch.key + "\n");
  text += write_file_script("job.yaml", launch.job);
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
  steps.push_back({folder + "/worker.sh", worker(launch, all.front())});
  for (size_t i = 0; i < all.size(); ++i) {
    steps.push_back({fmt::format("{}/host-{}.sh", folder, i), host_script(launch, all[i], i)});
    steps.push_back({"then, by " + shell(all[i].host).command(), fmt::format("setsid sh ./host-{}.sh\n", i)});
  }
  return steps;
}

std::vector<Finding> HostsSite::check(const spec::Job* job) const {
  std::vector<Finding> all;
  for (const std::string& host : all_hosts()) {
    for (Finding& finding : findings_at(shell(host), "cannot be reached", check_script(common(), job)))
      all.push_back(std::move(finding));
  }
  return all;
}

std::string HostsSite::submit(const Launch& launch) const {
  const auto all = shares(launch);
  // All of them, before the first one is started: the workers would wait for each other.
  std::vector<Shell> shells;
  for (const Share& share : all) shells.push_back(shell(share.host));
  if (all.size() > 1) ask_all(shells, "cannot be reached", [](size_t) { return "true"; });
  const Record record{launch.label, name(), common().kind, common().folder, launch.out, "", {}};
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
  size_t running = 0;
  bool cancelled = false;
  std::vector<Shell> shells;
  for (const std::string& host : hosts) shells.push_back(shell(host));
  const auto answers = ask_all(shells, "cannot be asked", [&](size_t i) { return state_script(record, i); });
  for (size_t i = 0; i < hosts.size(); ++i) {
    const ShellAnswer& answer = answers[i];
    const std::string state = answer.last("host");
    cancelled = cancelled || !answer.said("cancelled").empty();
    running += state == "running" ? 1 : 0;
    if (state == "none" || state == "lost") lost.push_back(shells[i].name());
    if (const int end = status_in(answer.last("end")); end >= 0) ends.push_back(end);
  }
  Standing standing;
  if (running > 0) {
    standing.state = spec::RunState::kRunning;
    if (cancelled) standing.reason = "it was asked to stop; cancel again to end it at once";
    standing.details.emplace_back("hosts", fmt::format("{} of {}", running, hosts.size()));
    return standing;
  }
  const int end = end_of_run(ends);
  if (end >= 0) return standing_of_end(end, cancelled);
  if (cancelled) return {spec::RunState::kCancelled, "killed", {}};
  return {spec::RunState::kLost, fmt::format("nothing of it runs or has ended on {}", fmt::join(lost, ", ")), {}};
}

std::string HostsSite::cancel(const Record& record) const {
  size_t asked = 0, killed = 0, elsewhere = 0;
  const auto hosts = hosts_of(record);
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string did = shell(hosts[i]).need("cannot be told to stop", cancel_script(record, i)).last("did");
    asked += did == "ask" ? 1 : 0;
    killed += did == "kill" ? 1 : 0;
    elsewhere += did == "not find" ? 1 : 0;
  }
  if (killed > 0) return "killed on " + plural(static_cast<int64_t>(killed), "host");
  if (asked > 0) return "asked to write a checkpoint and stop";
  return elsewhere > 0 ? "it runs, but not on the host that was asked; cancel it from where it was launched"
                       : "nothing of it runs";
}

std::string HostsSite::log(const Record& record, int64_t from) const {
  return shell(hosts_of(record).front())
      .need("the log cannot be read", log_script(launch_folder(record.folder, record.label) + "/log-0.txt", from))
      .out;
}

}  // namespace linac::sites
