// Clusters with Slurm, by its own commands (sbatch, squeue, sacct, scancel, sinfo), here or on a login node that ssh
// leads to. A launch is one job, or a member of an array: `srun` starts a worker for each task. A job that is
// preempted, comes to its time limit or loses too many of its nodes has left a checkpoint, puts itself back into the
// queue and goes on from there.
//
//   launch/launch.sbatch  the script, which holds no secret: on many systems others can read it
//   launch/submitted      the job's number and when it was submitted: numbers are used again
//   launch/log.txt        what it prints        launch/exit  how it ended

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/image.h"
#include "linac/control/sites/memory.h"
#include "linac/control/sites/script/script_files.h"
#include "linac/control/sites/scripts.h"
#include "linac/control/sites/shell.h"
#include "linac/control/sites/site.h"
#include "linac/control/sites/slurm_script.h"
#include "linac/control/sites/slurm_words.h"

namespace linac::sites {
namespace {

// What Slurm calls the job of a launch.
const std::string& job_name(const Record& record) {
  return record.index > 0 ? record.array : record.label;
}

// By its name too: should the number be another's by now, that one stays.
std::string cancel_words(const Record& record, const std::string& id, bool gently) {
  const std::string named = "scancel --name=" + shell_word(job_name(record)) + (gently ? " --signal=TERM " : " ");
  if (record.index == 0) return named + shell_word(id);
  // Of an array, with the name scancel would take all that wait with the one; and to one that runs it says it until
  // that is gone, but for a step. Before there is a step, the script looks whether it was cancelled.
  if (!gently) return "scancel " + shell_word(id);
  return fmt::format("tries=0; until {} 2>/dev/null || [ $tries = 3 ]; do sleep 1; tries=$((tries + 1)); done",
                     named + shell_word(id + ".0"));
}

// The image is a file, or apptainer brings it from a registry.
std::string check_container_script(const SlurmSettings& settings) {
  std::string script =
      environment_script(settings) +
      "echo 'linac: ok program within the container; not looked at'\n"
      "command -v apptainer >/dev/null 2>&1 || echo 'linac: doubtful apptainer is not on this host; the "
      "nodes need it'\n";
  if (settings.container.find("://") == std::string::npos) {
    const std::string file = shell_word(settings.container);
    script += fmt::format("if {{ [ -f {0} ] || [ -d {0} ]; }} && [ -r {0} ]; then echo {1}; else echo {2}; fi\n", file,
                          shell_word("linac: ok image " + settings.container + ": can be read"),
                          shell_word("linac: bad image " + settings.container +
                                     ": not there, or not to be read; set container to an image's path there, or to "
                                     "docker://REGISTRY/NAME:VERSION"));
  }
  return script;
}

class SlurmSite : public Site, public TakesArrays, public RunsScripts, public HasFolders {
 public:
  SlurmSite(std::string name, std::string where, SlurmSettings settings)
      : Site(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }

  std::vector<PlannedStep> plan(const Launch& launch) const override;
  std::vector<Finding> check(const job::Job* job) const override;
  std::vector<Finding> look_at_script(const Launch& launch) const override;
  std::string submit(const Launch& launch) const override;
  std::vector<PlannedStep> plan_array(const Array& array) const override;
  std::string submit_array(const Array& array) const override;
  Standing standing(const Record& record) const override;
  Facts facts() const override;
  std::string cancel(const Record& record) const override;
  std::string log(const Record& record, int64_t from) const override;
  bool is_apart() const override { return !settings_.login.empty(); }
  void fetch(const Record& record, const std::string& folder) const override {
    shell().unpack("what the script has written cannot be fetched", pack_script(record), folder);
  }
  std::vector<Shell> shells_of_run(const Record&) const override { return {shell()}; }
  void reopen(const Record& record) const override;
  void remove(const Record& record) const override { shell().need("it cannot be removed", remove_script(record)); }

 private:
  std::string folder(const std::string& label) const { return launch_folder(settings_.folder, label); }
  Shell shell() const { return settings_.login.empty() ? Shell() : Shell(settings_.ssh, settings_.login); }
  // The name stands here too: a user's SBATCH_JOB_NAME would go before that of the script.
  // `exclude`: its option, as a word of shell.
  std::string sbatch(const std::string& label, const char* file, const std::string& exclude) const {
    return fmt::format("sbatch --parsable --job-name={} {}{}", shell_word(label), exclude.empty() ? "" : exclude + " ",
                       shell_word(folder(label) + "/" + file));
  }
  std::string planned_sbatch(const std::string& label, const char* file, const Launch& launch) const {
    const auto none = excluded(settings_, launch);
    return sbatch(label, file, none.empty() ? "" : fmt::format("--exclude={}", fmt::join(none, ","))) + "\n";
  }
  // "linac: job ..." for all jobs of that name that Slurm knows, each member of an array.
  std::string ask_script(const std::string& name) const {
    return forget_variables() +
           fmt::format(
               "export SLURM_TIME_FORMAT=standard\n"
               "known=$(squeue -h -r -t all -u \"$(id -un)\" --name={} -o 'linac: job %i|%V|%T|%r|%N|%M') || exit 4\n"
               "printf '%s\\n' \"$known\"\n",
               shell_word(name));
  }
  // The files of a launch, in its folder.
  std::string files_script(const Launch& launch) const {
    std::string script;
    if (needs_key(launch)) script += write_file_script("private/key", launch.key + "\n");
    script += write_file_script("job.yaml", launch.job);
    script += write_script_files(launch);
    script += write_file_script("worker.sh", slurm_worker(settings_, launch));
    return script + write_file_script("launch.sbatch", batch_script(settings_, launch));
  }

  // What the user's environment may have for squeue and sbatch: the first would hide jobs, the second goes before what
  // stands in the script.
  std::string forget_variables() const {
    std::string text =
        "unset SQUEUE_ACCOUNT SQUEUE_ARRAY SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES "
        "SQUEUE_USERS SBATCH_ARRAY_INX SBATCH_JOB_NAME SBATCH_NO_REQUEUE SBATCH_OPEN_MODE SBATCH_OUTPUT SBATCH_SIGNAL "
        "SBATCH_TIMELIMIT SBATCH_WAIT";
    for (const auto& [name, value] : {std::pair{"SBATCH_PARTITION", settings_.partition},
                                      {"SBATCH_ACCOUNT", settings_.account},
                                      {"SBATCH_QOS", settings_.qos}})
      if (!value.empty()) text += std::string(" ") + name;
    return text + "\n";
  }

  Standing standing_in(const ShellAnswer& answer, int index) const;
  std::string submit_script(const std::string& name, const std::string& same, const std::string& files,
                            const char* file, const std::vector<std::string>& none) const;

  SlurmSettings settings_;
};

Facts SlurmSite::facts() const {
  // Each question is work for the one process that serves the whole cluster.
  Facts facts{.workers_a_host = settings_.workers_per_node, .pause = std::chrono::seconds(5)};
  facts.memory = memory_of_sbatch(settings_.sbatch, settings_.workers_per_node, settings_.cpus, settings_.gpus);
  if (!settings_.memory.empty())
    facts.memory.push_back({gib_of_slurm(settings_.memory), 1, "memory: " + settings_.memory});
  return facts;
}

std::vector<PlannedStep> SlurmSite::plan(const Launch& launch) const {
  const std::string here = folder(launch.label);
  std::vector<PlannedStep> steps{{here + "/job.yaml", launch.job},
                                 {here + "/worker.sh", slurm_worker(settings_, launch)}};
  for (PlannedStep& step : planned_script_files(launch, here)) steps.push_back(std::move(step));
  if (needs_key(launch)) steps.push_back({here + "/private/key", "(64 hexadecimal digits that nobody sees)\n"});
  steps.push_back({here + "/launch.sbatch", batch_script(settings_, launch)});
  steps.push_back({"then, by " + shell().command(), planned_sbatch(launch.label, "launch.sbatch", launch)});
  return steps;
}

std::vector<Finding> SlurmSite::check(const job::Job* job) const {
  Launch small{.label = "linac-check", .job = {}, .out = {}, .key = {}};
  std::string script =
      forget_variables() +
      fmt::format(
          "command -v sbatch >/dev/null 2>&1 || {{ echo 'linac: bad slurm no sbatch here; set login to the login "
          "node'; "
          "exit 0; }}\n"
          "said=$(printf %s {} | sbatch --test-only 2>&1) && echo \"linac: ok slurm $(printf %s \"$said\" | tail -n "
          "1)\" "
          "|| "
          "echo \"linac: bad slurm $(printf %s \"$said\" | tail -n 1); look at partition, account, qos and time of the "
          "site\"\n",
          shell_word(batch_script(settings_, small)));
  if (!settings_.partition.empty()) {
    script += fmt::format(
        "said=$(sinfo -h -p {0} -o '%a, %D nodes, limit %l' 2>&1 | head -n 1)\n"
        "if [ -n \"$said\" ]; then echo \"linac: ok partition \"{0}\": $said\"; "
        "else echo \"linac: bad partition \"{0}\": not there; there are $(sinfo -h -o %R | tr '\\n' ' ')\"; fi\n",
        shell_word(settings_.partition));
  }
  // Within the container the program is somewhere else, and so is all that it needs.
  script += settings_.container.empty() ? check_script(settings_, job) : check_container_script(settings_);
  std::vector<Finding> all = findings_at(shell(), "cannot be asked", script);
  if (settings_.container.find("://") != std::string::npos) all.push_back(ask_registry(settings_.container));
  return all;
}

// The login node has what the nodes have, and is not for work; in a container is something else.
std::vector<Finding> SlurmSite::look_at_script(const Launch& launch) const {
  if (!settings_.container.empty()) return check_script_here(launch);
  std::vector<Finding> all = findings_at(shell(), "the script cannot be looked at",
                                         check_script_script(settings_, *launch.script, ScriptCheck::kBegin));
  if (!launch.script->trial.empty())
    for (Finding& finding : check_script_here(launch)) all.push_back(std::move(finding));
  return all;
}

// `none`: hosts that it keeps away from.
// `same`: fails where another one has the name; `files`: writes what `file` starts.
std::string SlurmSite::submit_script(const std::string& name, const std::string& same, const std::string& files,
                                     const char* file, const std::vector<std::string>& none) const {
  // The lock (9) goes to sbatch: should whoever asked die meanwhile, the next one waits until it has come to its end.
  return fmt::format(
             "{0}{2}{3}"
             "exec 9>lock || exit 4\n"
             "flock -w 100 9 || {{ echo 'somebody else submits it' >&2; exit 4; }}\n"
             "if [ -s submitted ]; then echo \"linac: submitted $(cat submitted)\"; exit 0; fi\n"
             "former() {{ if [ -s former ]; then grep -vxF -f former || true; else cat; fi; }}\n"
             "jobs() {{ SLURM_TIME_FORMAT=standard squeue -h -t all -u \"$(id -un)\" --name={1} -o '%F %V' >queue || "
             "exit "
             "4; former <queue; }}\n"
             "known=$(jobs) || exit 4\n"
             "if [ -z \"$known\" ]; then\n",
             make_folder_script(settings_.folder, name), shell_word(name), same, forget_variables()) +
         files + exclude_script(settings_, none) + "  umask \"$mask\"\n  " +
         sbatch(name, file, none.empty() ? "" : "${exclude:+\"--exclude=$exclude\"}") +
         " >id || exit 4\n"
         "  known=$(jobs) || exit 4\n"
         "fi\n"
         "known=$(printf '%s\\n' \"$known\" | tail -n 1)\n"
         "[ -n \"$known\" ] || known=$(cat submitted)\n"  // it has begun already, and wrote it
         "printf '%s\\n' \"$known\" >submitted.part && mv submitted.part submitted || exit 4\n"
         "echo \"linac: submitted $known\"\n";
}

std::string SlurmSite::submit(const Launch& launch) const {
  const std::string script = submit_script(launch.label, same_job_script(launch), files_script(launch), "launch.sbatch",
                                           excluded(settings_, launch));
  const std::string submitted = shell().need("cannot be submitted", script).last("submitted");
  if (submitted.empty()) throw environment_error(place() + ": sbatch has said no number; look at squeue there");
  return submitted.substr(0, submitted.find(' '));
}

std::vector<PlannedStep> SlurmSite::plan_array(const Array& array) const {
  std::vector<PlannedStep> steps;
  for (const Launch& member : array.members) {
    steps.push_back({folder(member.label) + "/job.yaml", member.job});
    steps.push_back({folder(member.label) + "/worker.sh", slurm_worker(settings_, member)});
    if (needs_key(member))
      steps.push_back({folder(member.label) + "/private/key", "(64 hexadecimal digits that nobody sees)\n"});
    steps.push_back({folder(member.label) + "/launch.sbatch", batch_script(settings_, member)});
  }
  steps.push_back({folder(array.name) + "/array.sbatch", array_script(settings_, array)});
  steps.push_back({"then, by " + shell().command(), planned_sbatch(array.name, "array.sbatch", array.members.front())});
  return steps;
}

std::string SlurmSite::submit_array(const Array& array) const {
  // Whether it is the same one is known from its number of members here, and from each of them there.
  const Launch whole{
      .label = array.name, .job = fmt::format("{} members\n", array.members.size()), .out = {}, .key = {}};
  std::string files = write_file_script("job.yaml", whole.job);
  for (const Launch& member : array.members)
    files += "( " + make_folder_script(settings_.folder, member.label) + same_job_script(member) +
             files_script(member) + ") || exit 4\n";
  files += write_file_script("array.sbatch", array_script(settings_, array));
  const std::string script = submit_script(array.name, same_job_script(whole), files, "array.sbatch",
                                           excluded(settings_, array.members.front()));
  const std::string submitted = shell().need("cannot be submitted", script).last("submitted");
  if (submitted.empty()) throw environment_error(place() + ": sbatch has said no number; look at squeue there");
  return submitted.substr(0, submitted.find(' '));
}

Standing SlurmSite::standing(const Record& record) const {
  const std::string script = fmt::format(
      "{}{}"
      "[ ! -s submitted ] || echo \"linac: submitted $(cat submitted)\"\n"
      "[ ! -s exit ] || echo \"linac: exit $(cat exit)\"\n"
      "{}"
      "[ ! -e cancelled ] || echo 'linac: cancelled'\n"
      "[ -n \"$known\" ] || sacct -n -P -X --name={} -S 2000-01-01 -o JobID,Submit,State,ExitCode,NodeList,Elapsed "
      "2>/dev/null | sed "
      "'s/^/linac: account /'\n"
      "true\n",
      ask_script(job_name(record)), enter_folder_script(record.folder, record.label, ":"), why_script(),
      shell_word(job_name(record)));
  const ShellAnswer answer = shell().need("cannot be asked", script);
  Standing standing = standing_in(answer, record.index);
  if (record.script) tell_of_script(standing, answer.last("why"));
  return standing;
}

// `index`: of the member of an array, else 0.
Standing SlurmSite::standing_in(const ShellAnswer& answer, int index) const {
  const std::string submitted = answer.last("submitted");
  SlurmJob job = meant_job(member_lines(answer.said("job"), index), submitted);
  const SlurmJob account = meant_job(member_lines(answer.said("account"), index), submitted);
  if (job.id.empty()) job = account;
  const int exit = status_in(answer.last("exit"));
  const bool cancelled = !answer.said("cancelled").empty();
  if (!job.id.empty()) return standing_of(job, exit, cancelled);
  // Slurm forgets, after minutes where it keeps no accounts.
  if (exit >= 0) return standing_of_end(exit, cancelled);
  if (cancelled) return {job::RunState::kCancelled, "", {}};
  return {job::RunState::kLost, "Slurm does not know it (any more), and it has left no end", {}};
}

std::string SlurmSite::cancel(const Record& record) const {
  const std::string script = fmt::format(
      "{0}cd {1} && [ -O . ] || exit 4\n"
      "[ ! -s submitted ] || echo \"linac: submitted $(cat submitted)\"\n"
      "[ ! -e cancelled ] || echo 'linac: cancelled'\n"
      ": > cancelled || exit 4\n",
      ask_script(job_name(record)), shell_word(launch_folder(record.folder, record.label)));
  const ShellAnswer answer = shell().need("cannot be cancelled", script);
  const SlurmJob job = meant_job(member_lines(answer.said("job"), record.index), answer.last("submitted"));
  const bool runs = job.state.starts_with("RUNNING") || job.state.starts_with("SUSPENDED");
  const bool waits = job.state.starts_with("PENDING") || job.state.starts_with("CONFIGURING");
  if (!runs && !waits) return "nothing of it runs";
  const bool gently = runs && answer.said("cancelled").empty();
  shell().need("cannot be cancelled", cancel_words(record, job.id, gently));
  return gently  ? (record.script ? "asked to stop" : "asked to write a checkpoint and stop")
         : waits ? "taken out of the queue"
                 : "killed";
}

// Slurm still knows the job that has ended: it is none of the next start.
void SlurmSite::reopen(const Record& record) const {
  const std::string script = fmt::format(
      "{0}{1}"
      "[ -s submitted ] || exit 0\n"
      "exec 9>>lock || exit 4\n"
      "flock -w 100 9 || {{ echo 'somebody else submits it' >&2; exit 4; }}\n"
      "live=$(squeue -h -r -u \"$(id -un)\" --name={2} -o %i{3}) || exit 4\n"
      "if [ -n \"$live\" ]; then echo 'linac: host runs'; exit 0; fi\n"
      "SLURM_TIME_FORMAT=standard squeue -h -t all -u \"$(id -un)\" --name={2} -o '%i %V' >former || exit 4\n"
      "rm -f submitted id exit why cancelled ends/* || exit 4\n",
      forget_variables(), enter_folder_script(record.folder, record.label, ":"), shell_word(job_name(record)),
      record.index == 0 ? "" : fmt::format(" | sed -n '/_{}$/p'", record.index));
  if (shell().need("cannot be asked", script).last("host") == "runs")
    throw user_error(
        fmt::format("{}: {} runs there, or waits in the queue; cancel it, or wait for its end", place(), record.label));
}

std::string SlurmSite::log(const Record& record, int64_t from) const {
  return shell()
      .need("the log cannot be read", log_script(launch_folder(record.folder, record.label) + "/log.txt", from))
      .out;
}

std::unique_ptr<Site> make_slurm_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  SlurmSettings settings;
  config::read(node, settings, where, name + ".");
  const std::string place = "[sites] " + where + ": " + name;
  check_common(settings, place);
  const auto is_word = [](const std::string& text) { return text.find_first_of(" \t\r\n'\"#\\") == std::string::npos; };
  for (const auto& [key, value] : {std::pair{"partition", settings.partition},
                                   {"account", settings.account},
                                   {"qos", settings.qos},
                                   {"login", settings.login}})
    need(is_word(value) && !value.starts_with('-'), place, fmt::format("{}: '{}' is no word of Slurm", key, value));
  need(!settings.ssh.empty() && !settings.ssh.front().empty(), place, "ssh: empty; leave it out for ssh itself");
  if (!settings.time.empty()) seconds_of(place + ".time:", settings.time);
  if (!settings.memory.empty()) megabytes_of(place + ".memory:", settings.memory);
  seconds_of(place + ".notice:", settings.notice);
  need(settings.workers_per_node >= 1, place, "workers_per_node: less than 1");
  need(settings.cpus >= 0 && settings.gpus >= 0 && settings.requeue >= 0, place, "cpus, gpus, requeue: less than 0");
  for (const std::string& option : settings.sbatch)
    need(option.starts_with("--") && option.find('\n') == std::string::npos, place,
         "sbatch: '" + option + "' is no option; write e.g. --constraint=ib");
  // One launch is one job, which is found by its name. Slurm takes an option's beginning for the whole.
  for (const std::string& option : settings.sbatch)
    for (const std::string_view never : {"--array", "--job-name", "--wait", "--wrap"})
      need(!never.starts_with(option.substr(0, option.find_first_of("= "))), place,
           "sbatch: '" + option + "' cannot be set: a launch is one job of its own name; leave it out");
  return std::make_unique<SlurmSite>(name, where, settings);
}

}  // namespace

Kind slurm_kind() {
  return {"slurm", "a cluster with Slurm, from its login node or through ssh", make_slurm_site,
          [] { return config::describe(SlurmSettings{}); }};
}

}  // namespace linac::sites
