#include <fmt/format.h>

#include "linac/base/base/host.h"
#include "linac/control/sites/hosts_site.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

struct LocalSettings : CommonSettings {
  template <class V>
  void fields(V& v) {
    common_fields(v);
  }
};

class LocalSite : public HostsSite {
 public:
  LocalSite(std::string name, std::string where, LocalSettings settings)
      : HostsSite(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }
  Facts facts() const override {
    return {.workers_a_host = kAllWorkers, .memory = {{host_memory_gib(), kAllWorkers, "this host"}}};
  }

 protected:
  // One process, which starts the workers itself; scripts cannot do that, nor are workers that join its own.
  std::vector<Share> shares(const Launch& launch) const override {
    if (launch.script) {
      Share share{.host = "", .starts = {}, .workers = workers_word(launch), .with_key = true};
      for (int rank = 0; rank < launch.workers; ++rank)
        share.starts += fmt::format(
            "run 0-{0} RANK={0} LOCAL_RANK={0} LOCAL_WORLD_SIZE={1} LINAC_SPAWN_MEET=file "
            "LINAC_SPAWN_ADDRESS=127.0.0.1\n",
            rank, launch.workers);
      return {share};
    }
    std::string starts = "run 0-0 LINAC_LAUNCH=local\n";
    if (launch.joins) {
      starts.clear();
      for (int rank = 0; rank < launch.workers; ++rank)
        starts +=
            fmt::format("run 0-{0} LINAC_LAUNCH=local LOCAL_RANK={0} LOCAL_WORLD_SIZE={1}\n", rank, launch.workers);
    }
    return {{.host = "", .starts = starts, .workers = workers_word(launch), .with_key = needs_key(launch)}};
  }
  Shell shell(const std::string&) const override { return {}; }
  std::vector<std::string> all_hosts() const override { return {""}; }

 private:
  LocalSettings settings_;
};

std::unique_ptr<Site> make_local_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  LocalSettings settings;
  config::read(node, settings, where, name + ".");
  check_common(settings, "[sites] " + where + ": " + name);
  return std::make_unique<LocalSite>(name, where, settings);
}

}  // namespace

Kind local_kind() {
  return {"local", "this host, beside what else runs here", make_local_site,
          [] { return config::describe(LocalSettings{}); }};
}

}  // namespace linac::sites
