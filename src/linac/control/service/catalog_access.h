#pragma once
// The catalog for coroutines: reads on a small pool of threads, writes acknowledged by the writing thread. The
// coroutine goes on on the thread of its connection.
//
//   const Run run = co_await reading(context, [&](Database& database) { return catalog::run(database, id); });
//   co_await writing(context, [&](Database& database) { catalog::set_run_tags(database, id, tags); });
//
// `work` may use what the coroutine holds, which waits meanwhile. Both throw what `work` throws. A writing `work` may
// be carried out more than once: it sets what it captures, never adds to it.

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "linac/control/catalog/users.h"
#include "linac/control/service/context.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

/// Runs `work` on a thread of the pool `context.readers`; for whatever blocks.
Task<void> aside(Context& context, std::function<void()> work);
/// Returns after the commit. `who`: whose turn it takes (catalog.h).
Task<void> write_catalog(Context& context, catalog::Catalog::Work work, const std::string& who);

template <class F>
Task<std::invoke_result_t<F, catalog::Database&>> reading(Context& context, F work) {
  using R = std::invoke_result_t<F, catalog::Database&>;
  std::optional<R> result;
  co_await aside(context, [&] {
    context.catalog.read([&](catalog::Database& database) { result.emplace(work(database)); }, kReadMax);
  });
  co_return std::move(*result);
}

/// Into the audit log; nobody waits for it, and it is missed where nothing can be written any more.
void note_aside(Context& context, std::vector<catalog::AuditEntry> entries);

template <class F>
Task<std::invoke_result_t<F, catalog::Database&>> writing(Context& context, F work, std::string who = {}) {
  using R = std::invoke_result_t<F, catalog::Database&>;
  if constexpr (std::is_void_v<R>) {
    co_await write_catalog(
        context, [&](catalog::Database& database) { work(database); }, who);
  } else {
    std::optional<R> result;
    co_await write_catalog(
        context, [&](catalog::Database& database) { result.emplace(work(database)); }, who);
    co_return std::move(*result);
  }
}

}  // namespace linac::service
