#include "linac/control/http/server/awaited.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

namespace linac::http {

namespace asio = boost::asio;

Task<void> awaited(std::function<void(Finish)> begin) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      [&](auto handler) {
        auto kept = std::make_shared<decltype(handler)>(std::move(handler));
        begin([kept, executor](std::exception_ptr error) {
          asio::post(executor, [kept, error] { std::move (*kept)(error); });
        });
      },
      asio::use_awaitable);
}

}  // namespace linac::http
