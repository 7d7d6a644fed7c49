#pragma once
// The books for coroutines: reads on a small pool of threads, writes acknowledged by the writing thread. The coroutine
// goes on on the thread of its connection.
//
//   const Run run = co_await reading(context, [&](Database& books) { return catalog::run(books, id); });
//   co_await writing(context, [&](Database& books) { catalog::set_run_tags(books, id, tags); });
//
// `work` may use what the coroutine holds, which waits meanwhile. Both throw what `work` throws. A writing `work` may
// be carried out more than once: it sets what it captures, never adds to it.

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>

#include "linac/service/context.h"
#include "linac/service/http_words.h"

namespace linac::service {

/// Runs `work` on a thread of the pool `context.readers`; for whatever blocks.
Task<void> aside(Context& context, std::function<void()> work);
/// Returns after the commit.
Task<void> write_books(Context& context, catalog::Books::Work work);

template <class F>
Task<std::invoke_result_t<F, catalog::Database&>> reading(Context& context, F work) {
  using R = std::invoke_result_t<F, catalog::Database&>;
  std::optional<R> result;
  co_await aside(context, [&] { context.books.read([&](catalog::Database& books) { result.emplace(work(books)); }); });
  co_return std::move(*result);
}

template <class F>
Task<std::invoke_result_t<F, catalog::Database&>> writing(Context& context, F work) {
  using R = std::invoke_result_t<F, catalog::Database&>;
  if constexpr (std::is_void_v<R>) {
    co_await write_books(context, [&](catalog::Database& books) { work(books); });
  } else {
    std::optional<R> result;
    co_await write_books(context, [&](catalog::Database& books) { result.emplace(work(books)); });
    co_return std::move(*result);
  }
}

}  // namespace linac::service
