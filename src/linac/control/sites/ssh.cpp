#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/hosts_site.h"
#include "linac/control/sites/port.h"
#include "linac/control/sites/program_copy.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

struct SshSettings : CommonSettings {
  std::vector<std::string> hosts;
  std::vector<std::string> ssh{"ssh", "-o", "ConnectTimeout=15"};
  int workers_per_host = 1;
  std::string archive, address;
  int port = 0;

  template <class V>
  void fields(V& v) {
    common_fields(v);
    v("hosts", hosts, "names that your ssh knows, of ~/.ssh/config too, e.g. [n01, me@n02]");
    v("ssh", ssh, "the command with its options, e.g. [ssh, -F, my-config]");
    v("archive", archive,
      "of the program, as `make dist` makes it, a path of this host: it is brought to hosts that do not have it, in "
      "place "
      "of program");
    v("workers_per_host", workers_per_host, "one fills a host (docs/guide/distribution.md)");
    v("address", address,
      "at which the other hosts find the first one; without it its name as ssh has it, without the user");
    v("port", port, "at which they meet there; 0: one from 20000 to 29999 that follows from the launch's name");
  }
};

class SshSite : public HostsSite, public ChoosesHosts {
 public:
  SshSite(std::string name, std::string where, SshSettings settings)
      : HostsSite(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }
  bool is_apart() const override { return true; }
  std::vector<Finding> check(const job::Job* job) const override;
  Facts facts() const override { return {.workers = workers(), .workers_a_host = settings_.workers_per_host}; }

  std::vector<std::string> hosts(const Launch& launch) const override {
    std::vector<std::string> left = hosts_left(launch);
    left.resize(std::min<size_t>(left.size(), static_cast<size_t>(launch.workers)));
    return left;
  }
  std::vector<std::string> left_out(const Launch& launch) const override {
    return excluded_of(settings_.hosts, excluded(settings_, launch), place());
  }

 protected:
  // The first hosts carry one more, if it does not come out even.
  std::vector<Share> shares(const Launch& launch) const override {
    const size_t left = hosts_left(launch).size();
    need(launch.workers <= static_cast<int64_t>(left) * settings_.workers_per_host, place(),
         fmt::format("hosts: {} workers for {} with {} each{}; fewer --workers, or a larger workers_per_host",
                     launch.workers, left, settings_.workers_per_host,
                     left == settings_.hosts.size() ? "" : ", as others are excluded"));
    const std::vector<std::string> hosts = this->hosts(launch);
    const int count = static_cast<int>(hosts.size());
    const std::string meet = address(hosts.front());
    std::vector<Share> all;
    int rank = 0;
    for (int host = 0; host < count; ++host) {
      const int here = launch.workers / count + (host < launch.workers % count ? 1 : 0);
      Share share{
          .host = hosts[static_cast<size_t>(host)], .starts = {}, .workers = workers_word(launch), .with_key = true};
      const int port = settings_.port > 0 ? settings_.port : port_of(launch.label);
      for (int local = 0; local < here; ++local, ++rank) {
        share.starts += fmt::format(
            "run 0-{0} RANK={0} WORLD_SIZE={1} LOCAL_RANK={2} LOCAL_WORLD_SIZE={3} MASTER_ADDR={4} MASTER_PORT={5}",
            rank, launch.workers, local, here, shell_word(meet), port);
        // The log of the first host has what all print.
        if (launch.script)
          share.starts += fmt::format(" LINAC_SPAWN_MEET={} {}", shell_word(fmt::format("{}:{}", meet, port)),
                                      host == 0 ? "LINAC_SPAWN_ADDRESS=" + shell_word(meet) : "LINAC_SPAWN_FORWARD=1");
        share.starts += "\n";
      }
      all.push_back(std::move(share));
    }
    return all;
  }
  Shell shell(const std::string& host) const override { return {settings_.ssh, host}; }
  std::vector<std::string> all_hosts() const override { return settings_.hosts; }
  std::string program() const override {
    return settings_.archive.empty() ? settings_.program : brought_program(settings_.folder, archive());
  }
  void prepare(const std::vector<Shell>& shells) const override {
    if (settings_.archive.empty()) return;
    const ProgramArchive archive = this->archive();
    std::vector<std::future<void>> coming;  // hosts that share a folder wait for the first
    for (const Shell& there : shells)
      coming.push_back(std::async(std::launch::async, [&] { bring_program(there, settings_.folder, archive); }));
    for (auto& one : coming) one.wait();
    for (auto& one : coming) one.get();
  }

 private:
  int workers() const { return static_cast<int>(settings_.hosts.size()) * settings_.workers_per_host; }
  std::vector<std::string> hosts_left(const Launch& launch) const {
    return without_excluded(settings_.hosts, excluded(settings_, launch), place());
  }
  // The setting is that of the first host of all.
  std::string address(const std::string& first) const {
    if (!settings_.address.empty() && first == settings_.hosts.front()) return settings_.address;
    return first.substr(first.find('@') == std::string::npos ? 0 : first.find('@') + 1);
  }

  // Read once.
  const ProgramArchive& archive() const {
    const std::scoped_lock lock(mutex_);
    if (!archive_) archive_ = program_archive(settings_.archive, place());
    return *archive_;
  }

  SshSettings settings_;
  mutable std::mutex mutex_;
  mutable std::optional<ProgramArchive> archive_;
};

// Where it has not been brought yet, there is no program to be looked at.
std::vector<Finding> SshSite::check(const job::Job* job) const {
  if (settings_.archive.empty()) return HostsSite::check(job);
  std::vector<Finding> all;
  for (const std::string& host : settings_.hosts) {
    CommonSettings common = settings_;
    common.program.clear();
    Finding finding{true, "program", settings_.archive + ": will be brought there"};
    try {
      const std::string word =
          shell(host).need("cannot be reached", ask_program_script(settings_.folder, archive())).last("program");
      if (word == "there") common.program = program();
      if (word.starts_with("refused")) finding = {false, "program", settings_.archive + ": " + word};
    } catch (const Error&) {  // what follows says so
    }
    for (Finding& one : findings_at(shell(host), "cannot be reached", check_script(common, job)))
      all.push_back(std::move(one));
    if (common.program.empty() && all.back().what != kReached) all.push_back(std::move(finding));
  }
  return all;
}

std::unique_ptr<Site> make_ssh_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  SshSettings settings;
  config::read(node, settings, where, name + ".");
  const std::string place = "[sites] " + where + ": " + name;
  check_common(settings, place);
  need(!settings.hosts.empty(), place, "hosts: empty; name at least one, as your ssh knows it");
  for (const std::string& host : settings.hosts)
    need(!host.empty() && host[0] != '-' && host.find_first_of(" \t\r\n'\"/") == std::string::npos, place,
         "hosts: '" + host + "' is no name of a host");
  need(!settings.ssh.empty() && !settings.ssh.front().empty(), place, "ssh: empty; leave it out for ssh itself");
  need(settings.archive.empty() || settings.archive.starts_with('/'), place,
       "archive: '" + settings.archive + "' is no path from / on; it is one of this host");
  need(settings.workers_per_host >= 1, place, "workers_per_host: less than 1");
  need(settings.port >= 0 && settings.port < 65536, place, "port: not from 0 to 65535");
  return std::make_unique<SshSite>(name, where, settings);
}

}  // namespace

Kind ssh_kind() {
  return {"ssh", "hosts that you reach with ssh", make_ssh_site, [] { return config::describe(SshSettings{}); }};
}

}  // namespace linac::sites
