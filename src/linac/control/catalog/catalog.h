#pragma once
// The catalog: everything that the service remembers. Writes go through one thread, which carries out all that wait in
// one transaction, each within a savepoint, and acknowledges them after the commit: what was acknowledged is on the
// disk, and 1,000 small requests cost one fsync. Reads run beside it on connections of their own and see committed
// state. Thread-safe.

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

class Catalog {
 public:
  /// Opens and migrates; a damaged one is neither migrated nor written. `readers`: connections for reads. Errors of
  /// open_database() and migrate().
  explicit Catalog(const std::string& url, int readers = 4);
  ~Catalog();  // carries out what waits

  using Work = std::function<void(Database&)>;
  using Done = std::function<void(std::exception_ptr)>;
  /// Queues `work` and returns. `done` is called on the writing thread, after the commit: with null if `work` is on the
  /// disk, with what it threw (it alone is undone), or with the environment error that undid the transaction. A lost
  /// connection to PostgreSQL is opened again, and the transaction tried again for a bounded time. At most kWaitingMax
  /// wait; beyond, `done` is called at once with kLimit. `work` may therefore run more than once and must set, not add
  /// to, what it captures. Works of one `who` are carried out in their order, those of several by what they took of
  /// late (write_turns.h): whoever has many waiting, or long ones, keeps others waiting for the transaction that goes
  /// on.
  void write(Work work, Done done, const std::string& who = {});
  /// Runs `work` on a reader's connection in the calling thread, in one read transaction. Waits for a free connection.
  void read(const Work& work, ReadLimit limit = {});

  /// What is damaged; empty: nothing is known to be. Pages of SQLite are looked at when it is opened (a large
  /// database's while it is in use), and damage that a statement meets counts as well. Then nothing is written any
  /// more: write() fails by an environment error that says why. Reads go on as far as they can.
  std::string damage() const;

  /// The same, waiting for and returning what `work` returns.
  template <class F>
  auto write(F work, const std::string& who = {}) {
    using R = std::invoke_result_t<F, Database&>;
    std::promise<void> committed;
    auto future = committed.get_future();
    if constexpr (std::is_void_v<R>) {
      write(
          Work(work), [&](std::exception_ptr e) { settle(committed, e); }, who);
      future.get();
    } else {
      std::optional<R> result;
      write(
          Work([&](Database& d) { result = work(d); }), [&](std::exception_ptr e) { settle(committed, e); }, who);
      future.get();
      return std::move(*result);
    }
  }
  template <class F>
  auto read_as(F work) {
    std::optional<std::invoke_result_t<F, Database&>> result;
    read(Work([&](Database& d) { result = work(d); }));
    return std::move(*result);
  }

  static constexpr size_t kWaitingMax = 65536;

 private:
  static void settle(std::promise<void>& promise, const std::exception_ptr& error) {
    if (error)
      promise.set_exception(error);
    else
      promise.set_value();
  }
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace linac::catalog
