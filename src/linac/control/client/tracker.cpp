#include "linac/control/client/tracker.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/control/client/ingest.h"

namespace linac::client {
namespace {

constexpr std::chrono::seconds kEvery{5};

}  // namespace

Tracker::Tracker(Login login, std::filesystem::path folder, std::string experiment)
    : folder_(std::move(folder)), experiment_(std::move(experiment)) {
  thread_ = std::thread([this, login = std::move(login)] { run(login); });
}

Tracker::~Tracker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Tracker::run(const Login& login) {
  ServiceClient service(login);
  FolderIngest ingest(service, folder_, experiment_);
  bool told = false, away = false, last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, told || away ? kEvery : std::chrono::seconds(1), [&] { return stopping_; });
      last = stopping_;
    }
    if (!has_lines(folder_)) continue;
    try {
      const Ingested ingested = ingest.poll();
      if (!told) log::info(fmt::format("[track] {}: run {} ({})", login.server, ingested.run, ingested.name));
      if (away) log::info(fmt::format("[track] {}: is there again, and has all that is new", login.server));
      told = true;
      away = false;
    } catch (const std::exception& error) {
      if (!away || last)
        log::warn(fmt::format("{}; the run goes on, {}", error.what(),
                              last ? fmt::format("`linac ingest {}` sends the rest", folder_.string())
                                   : "and is sent when that is mended"));
      away = true;
    }
  }
}

}  // namespace linac::client
