#include "linac/control/service/catalog_access.h"

#include <boost/asio/post.hpp>

#include "linac/control/http/server/awaited.h"

namespace linac::service {

Task<void> aside(Context& context, std::function<void()> work) {
  co_await http::awaited([&](http::Finish finish) {
    boost::asio::post(context.readers, [&work, finish = std::move(finish)] {
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      finish(error);
    });
  });
}

Task<void> write_catalog(Context& context, catalog::Catalog::Work work, const std::string& who) {
  co_await http::awaited([&](http::Finish finish) { context.catalog.write(std::move(work), std::move(finish), who); });
}

void note_aside(Context& context, std::vector<catalog::AuditEntry> entries) {
  if (entries.empty()) return;
  context.catalog.write(
      [entries = std::move(entries)](catalog::Database& database) {
        for (const catalog::AuditEntry& entry : entries) catalog::audit(database, entry);
      },
      [](std::exception_ptr) {});
}

}  // namespace linac::service
