#include <fmt/format.h>

#include <memory>

#include "linac/base/base/percent.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct HostWords {
  ServiceOptions service;
  std::string host, core, what;

  std::string path() const { return fmt::format("/api/v1/hosts/{}/mark", percent_encoded(host)); }
};

void list(const ServiceOptions& options) {
  const json answer = options.connect().get("/api/v1/hosts/marks");
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  TextRows rows{{"HOST", "JOBS OF", "SINCE", "RUN", "WORKER", "CORE", "WHAT"}};
  for (const json& mark : answer.at("marks")) {
    const std::string user = mark.at("user");
    rows.push_back({mark.at("host"), user.empty() ? "everybody" : user, client::time_words(mark.at("marked_ms")),
                    mark.at("run"), mark.at("worker"), mark.at("core"), mark.at("what")});
  }
  if (rows.size() == 1)
    fmt::print("no host is marked as one that computes wrongly\n");
  else
    fmt::print("{}", lined_up(rows));
}

}  // namespace

void add_hosts_verb(CLI::App& app) {
  auto* verb = app.add_subcommand("hosts", "Hosts that computed wrongly, from which jobs of a service keep away");
  verb->require_subcommand(1);

  auto listed = std::make_shared<ServiceOptions>();
  auto* list_verb = verb->add_subcommand("list", "Those that are marked, by audits of runs or by admins");
  add_service_options(*list_verb, *listed);
  list_verb->footer("Example: linac hosts list");
  list_verb->callback([listed] { list(*listed); });

  auto marked = std::make_shared<HostWords>();
  auto* mark = verb->add_subcommand("mark", "Has everybody's jobs keep away from a host; for admins");
  mark->add_option("host", marked->host, "as it calls itself (hostname)")->required();
  mark->add_option("--core", marked->core, "that errs, as `linac bench audit` names it");
  mark->add_option("--what", marked->what, "why, in words");
  add_service_options(*mark, marked->service);
  mark->footer("Example: linac hosts mark n04 --core 3 --what \"bench audit: GRU and LSTM, avx512\"");
  mark->callback([marked] {
    marked->service.connect().put(marked->path(), {{"core", marked->core}, {"what", marked->what}});
    fmt::print("{} is marked: no job begins there until `linac hosts clear {}`\n", marked->host, marked->host);
  });

  auto cleared = std::make_shared<HostWords>();
  auto* clear = verb->add_subcommand("clear", "Lets jobs run on a host again that was looked at; for admins");
  clear->add_option("host", cleared->host, "as `linac hosts list` has it")->required();
  add_service_options(*clear, cleared->service);
  clear->footer("Example: linac hosts clear n04");
  clear->callback([cleared] {
    cleared->service.connect().remove(cleared->path());
    fmt::print("{} is cleared: jobs may begin there again\n", cleared->host);
  });
}

}  // namespace linac::cli
