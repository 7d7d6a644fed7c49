#pragma once
// What all handlers share. Made by serve() before the first request and outlives the last one. Thread-safe, as its
// parts are.

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/visibility.h"
#include "linac/control/execution/host.h"
#include "linac/control/http/files/uploads.h"
#include "linac/control/http/traffic.h"
#include "linac/control/service/checks.h"
#include "linac/control/service/data_folder.h"
#include "linac/control/service/hub.h"
#include "linac/control/service/turns.h"

namespace linac::service {

constexpr int kReaders = 4, kReadersOfOneMax = 2;
/// Of a statement that reads for a request.
constexpr catalog::ReadLimit kReadMax{std::chrono::milliseconds(10'000), 64 << 20};
constexpr size_t kAnswerBytesMax = 32 << 20;  // of one that is made as a whole

struct Context {
  Context(const std::string& database_url, std::filesystem::path data_folder, int64_t keep_free,
          catalog::Visibility visibility, std::vector<std::string> stores)
      : data(std::move(data_folder)),
        keep_free(keep_free),
        visibility(visibility),
        stores(std::move(stores)),
        catalog(database_url, kReaders),
        readers(static_cast<size_t>(kReaders)) {}

  const std::filesystem::path data;      // `--data`
  const int64_t keep_free;               // bytes of its disk that uploads and new jobs do not get
  const catalog::Visibility visibility;  // of new experiments and models
  const std::filesystem::path artifacts = data / kArtifactsFolder;
  const std::vector<std::string> stores;  // beside the service's own, that artefacts may lie at
  const std::filesystem::path uploads = data / kUploadsFolder;
  http::Uploads parts{uploads};  // large files on their way
  catalog::Catalog catalog;
  boost::asio::thread_pool readers;             // threads for what blocks: reads of the catalog, files, password hashes
  Checks checks;                                // for files that strangers name
  Turns turns{kReaders - 1, kReadersOfOneMax};  // at the readers' threads: one is left for who asks, and whether he may
  Turns long_reads{2, 1};                       // of them, for pieces of long answers
  Hub hub;
  http::Traffic traffic;
  std::atomic<int64_t> points_total = 0, failed_logins_total = 0;
  execution::Host host{data, artifacts, catalog, hub, points_total};
};

}  // namespace linac::service
