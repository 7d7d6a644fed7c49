#pragma once
// The host of runs: its folders, the catalog, and who is told. Outlives all that is given it. Thread-safe, as its
// parts are.

#include <atomic>
#include <filesystem>
#include <string>

#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/execution/news.h"

namespace linac::execution {

struct Host {
  const std::filesystem::path data;       // of the service
  const std::filesystem::path artifacts;  // one folder an experiment, in it one a run
  catalog::Catalog& catalog;
  News& news;
  std::atomic<int64_t>& points_total;  // points of metrics taken

  catalog::Run run(const std::string& id) {
    return catalog.read_as([&](catalog::Database& database) { return catalog::run(database, id); });
  }
};

}  // namespace linac::execution
