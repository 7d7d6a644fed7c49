#include "linac/control/service/health.h"

#include <exception>

#include "linac/control/http/files/disk_room.h"
#include "linac/control/service/catalog_access.h"

namespace linac::service {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

}  // namespace

Task<std::string> Health::look() {
  if (!context_.catalog.damage().empty()) co_return "the catalog is damaged and only read";
  try {
    http::check_room(context_.data, 0, context_.keep_free);
  } catch (const std::exception&) {
    co_return "the disk has less room than is kept free";
  }
  try {
    co_await reading(context_, [](catalog::Database& database) { return database.query("SELECT 1").size(); });
    co_await writing(context_, [](catalog::Database& database) {
      database.query("UPDATE writer SET number = number WHERE id = 1");
    });
  } catch (const std::exception&) {
    co_return "the catalog cannot be written";
  }
  co_return "";
}

Task<std::string> Health::trouble() {
  {
    const std::lock_guard lock(mutex_);
    const bool recent = looked_ && std::chrono::steady_clock::now() - at_ < kLookEvery;
    if (recent || (looking_ && looked_)) co_return trouble_;
    looking_ = true;
  }
  std::string found = co_await look();
  const std::lock_guard lock(mutex_);
  looking_ = false;
  looked_ = true;
  at_ = std::chrono::steady_clock::now();
  trouble_ = found;
  co_return found;
}

}  // namespace linac::service
