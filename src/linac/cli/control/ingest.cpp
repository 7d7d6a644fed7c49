#include "linac/control/client/ingest.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

struct IngestOptions {
  ServiceOptions service;
  std::string folder, experiment;
  bool follow = false;
};

void print(const client::Ingested& ingested, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"run", ingested.run},
                                      {"name", ingested.name},
                                      {"state", ingested.state},
                                      {"fresh", ingested.fresh},
                                      {"points", ingested.points},
                                      {"damaged", ingested.damaged}}
                           .dump());
  } else {
    fmt::print("{}  {}  {}: {} new points{}\n", ingested.run, ingested.name, ingested.state, ingested.points,
               ingested.damaged > 0 ? fmt::format(", {} damaged lines passed over", ingested.damaged) : "");
  }
  std::fflush(stdout);
}

void run_ingest(const IngestOptions& options) {
  constexpr std::chrono::seconds kEvery{5};
  client::ServiceClient service = options.service.connect();
  client::FolderIngest ingest(service, options.folder, options.experiment);
  for (;;) {
    const client::Ingested ingested = ingest.poll();
    print(ingested, options.service.json);
    if (!options.follow || client::ended(ingested.state)) return;
    std::this_thread::sleep_for(kEvery);
  }
}

}  // namespace

void add_ingest_verb(CLI::App& app) {
  auto options = std::make_shared<IngestOptions>();
  auto* verb = app.add_subcommand(
      "ingest", "Brings a run that was made without the service into its catalog; repeated, only what is new");
  verb->add_option("folder", options->folder, "the run's folder")->required()->check(CLI::ExistingDirectory);
  verb->add_option("--experiment", options->experiment, "put it there; made if there is none");
  verb->add_flag("-f,--follow", options->follow, "again every few seconds, until the run has ended");
  add_service_options(*verb, options->service);
  verb->footer("Examples:\n  linac ingest runs/demo\n  linac ingest runs/night --follow");
  verb->callback([options] { run_ingest(*options); });
}

}  // namespace linac::cli
