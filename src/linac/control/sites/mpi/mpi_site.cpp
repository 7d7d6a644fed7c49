// Hosts on which `mpirun` starts the workers: Open MPI's, MPICH's or Intel's, here or on a login node that ssh leads
// to. A launch is one script there, as on a host of hosts_site.h, whose files it has. Beside them:
//
//   launch/mpirun   the process of mpirun, which has a group of its own     launch/attempt  how often it was started
//   launch/stop     somebody, or the limit of time, asks the workers to stop
//   launch/kill     at once
//   launch/first-N  where they meet                                         launch/begun-N  a worker began
// The folder has to be on a disk that all hosts share.

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/shell_word.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/hosts_site.h"
#include "linac/control/sites/mpi/mpi_script.h"
#include "linac/control/sites/scripts.h"
#include "linac/control/sites/site.h"

namespace linac::sites {
namespace {

constexpr int kTrialSeconds = 60;  // within the patience of a shell

class MpiSite : public HostsSite, public ChoosesHosts {
 public:
  MpiSite(std::string name, std::string where, MpiSettings settings)
      : HostsSite(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }
  Facts facts() const override { return {.workers = workers(), .workers_a_host = settings_.slots}; }
  bool is_apart() const override { return !settings_.login.empty(); }
  std::vector<std::string> hosts(const Launch&) const override { return all_hosts(); }
  std::vector<Finding> check(const job::Job* job) const override;
  std::vector<std::string> left_out(const Launch& launch) const override {
    return excluded_of(settings_.hosts, excluded(settings_, launch), place());
  }

 protected:
  std::vector<Share> shares(const Launch& launch) const override {
    MpiSettings settings = settings_;
    settings.hosts = without_excluded(settings_.hosts, excluded(settings_, launch), place());
    need(settings.hosts.empty() || launch.workers <= static_cast<int64_t>(settings.hosts.size()) * settings.slots,
         place(),
         fmt::format("hosts: {} workers for {} with {} slots each{}; fewer --workers, or more slots", launch.workers,
                     settings.hosts.size(), settings.slots,
                     settings.hosts.size() == settings_.hosts.size() ? "" : ", as others are excluded"));
    return {{.host = settings_.login,
             .starts = mpi_loop(settings, launch),
             .with_key = needs_key(launch),
             .in_allocation = settings_.hosts.empty() && settings_.hostfile.empty()}};
  }
  Shell shell(const std::string&) const override {
    return settings_.login.empty() ? Shell() : Shell(settings_.ssh, settings_.login);
  }
  std::vector<std::string> all_hosts() const override {
    return settings_.login.empty() ? std::vector<std::string>{} : std::vector{settings_.login};
  }
  bool works_on_shells() const override { return false; }
  std::string worker(const Launch& launch, const Share&) const override { return mpi_worker(settings_, launch); }
  // The workers look for it, whatever has become of the script that started them.
  std::string to_ask() const override { return ": > stop\n"; }
  // On their hosts the workers look for that, too; mpirun ends with them. It alone could end them otherwise, and not
  // every one does.
  std::string to_kill() const override {
    return "if read -r mpirun < mpirun && : > kill; then\n"
           "  tries=0\n"
           "  while holds lock-0 \"$mpirun\" && [ $tries -lt 80 ]; do\n"
           "    [ $tries != 50 ] || kill -TERM \"$mpirun\"\n"
           "    sleep 0.1\n"
           "    tries=$((tries + 1))\n"
           "  done\n"
           "  ! holds lock-0 \"$mpirun\" || kill -KILL \"-$mpirun\"\n"
           "fi\n";
  }

 private:
  int workers() const { return static_cast<int>(settings_.hosts.size()) * settings_.slots; }

  MpiSettings settings_;
};

// Whether it is the mpirun that the settings mean, and whether all hosts see the folder.
std::string check_mpirun_script(const MpiSettings& settings, int workers) {
  std::string command;
  for (const std::string& word : settings.mpirun) command += shell_word(word) + " ";
  std::string words;
  for (const std::string& word : mpirun_words(settings, std::max(1, workers))) words += shell_word(word) + " ";
  return fmt::format(
      "said=$({0}--version 2>&1); status=$?\n"
      "text=$(printf '%s\\n' \"$said\" | sed -n 's/^ *Version: */Hydra /p;/Open MPI\\|Intel/p' | head -n 1)\n"
      "case $said in *'Open MPI'*) it=openmpi ;; *Intel*) it=intel ;; *HYDRA*) it=mpich ;; *) it=unknown ;; esac\n"
      "if [ $status != 0 ]; then echo {1}\"$(printf %s \"$said\" | head -n 1)\"\n"
      "elif [ $it != {2} ]; then echo {3}\"$it\"', not '{2}'; set mpi to what it is'\n"
      "else echo {4}\"$text\"\n"
      "  if timeout {5} {6}test -d {7} </dev/null >/dev/null 2>said-$$ 9>&-; then echo {8}\n"
      "  else echo {9}\"$(grep -v -e '^[-[:space:]]*$' said-$$ | head -n 1)\"; fi\n"
      "  rm -f said-$$\n"
      "fi\n",
      command,
      shell_word("linac: bad mpirun " + settings.mpirun.front() +
                 ": cannot be started; set mpirun to its path, "
                 "or let setup bring it (module load); "),
      settings.mpi, shell_word("linac: bad mpirun " + settings.mpirun.front() + ": it is "),
      shell_word("linac: ok mpirun "), kTrialSeconds, words, shell_word(settings.folder),
      shell_word(fmt::format("linac: ok hosts {} there, and they see the folder",
                             workers > 0 ? fmt::format("{} slots are", workers) : std::string("one slot is"))),
      shell_word("linac: bad hosts mpirun cannot start `test -d " + settings.folder +
                 "` there; look at hosts, slots and arguments, and whether they share the folder: "));
}

std::vector<Finding> MpiSite::check(const job::Job* job) const {
  return findings_at(
      shell(""), "cannot be reached",
      check_script(settings_, job) + "cd \"${TMPDIR:-/tmp}\"\n" + check_mpirun_script(settings_, workers()));
}

std::unique_ptr<Site> make_mpi_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  MpiSettings settings;
  config::read(node, settings, where, name + ".");
  const std::string place = "[sites] " + where + ": " + name;
  check_common(settings, place);
  const auto is_word = [](const std::string& text) {
    return !text.starts_with('-') && text.find_first_of(" \t\r\n'\"/,:#\\") == std::string::npos;
  };
  need(settings.mpi == "openmpi" || settings.mpi == "mpich" || settings.mpi == "intel", place,
       "mpi: '" + settings.mpi + "' is not one of openmpi, mpich, intel");
  for (const auto& [key, words] : {std::pair{"mpirun", &settings.mpirun}, {"ssh", &settings.ssh}})
    need(!words->empty() && !words->front().empty(), place, fmt::format("{}: empty; leave it out", key));
  need(is_word(settings.login), place, "login: '" + settings.login + "' is no name of a host");
  need(is_word(settings.address) || settings.address.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos,
       place, "address: '" + settings.address + "' is no name or address of a host");
  for (const std::string& host : settings.hosts)
    need(!host.empty() && is_word(host), place,
         "hosts: '" + host + "' is no name of a host; how many workers it has is `slots`");
  need(settings.hosts.empty() || settings.hostfile.empty(), place, "hostfile: there are hosts; leave one of them out");
  need(settings.hostfile.empty() || settings.hostfile.starts_with('/'), place,
       "hostfile: '" + settings.hostfile + "' is no path from / on; it is one of that place");
  need(settings.slots >= 1, place, "slots: less than 1");
  need(settings.port >= 0 && settings.port < 65536, place, "port: not from 0 to 65535");
  need(settings.restarts >= 0, place, "restarts: less than 0");
  for (const auto& words : {settings.mpirun, settings.arguments})
    for (const std::string& word : words)
      need(word.find('\n') == std::string::npos, place, "arguments: one word each, without line breaks");
  for (const std::string& word : settings.arguments)
    for (const char* const never : {"-n", "-np", "--np", "-c", "--n"})
      need(word != never, place, "arguments: '" + word + "' cannot be set: the launch has --workers; leave it out");
  return std::make_unique<MpiSite>(name, where, settings);
}

}  // namespace

Kind mpi_kind() {
  return {"mpi", "hosts on which mpirun starts the workers: Open MPI's, MPICH's, Intel's", make_mpi_site,
          [] { return config::describe(MpiSettings{}); }};
}

}  // namespace linac::sites
