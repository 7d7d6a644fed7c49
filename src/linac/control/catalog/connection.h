#pragma once
// A connection as the catalog itself uses it: Database, and transactions, statements that nobody waits for, and what
// the only writer may remember from one statement to the next. Every Database of this module is one. Not thread-safe.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/database.h"
#include "linac/control/catalog/writer_memory.h"

namespace linac::catalog {

class Connection : public Database {
 public:
  virtual void begin_write() = 0;
  /// One view of the catalog until commit() or rollback().
  virtual void begin_read(ReadLimit limit = {}) = 0;
  /// Afterwards the changes are on the disk. If it throws, they are not, unless the connection was lost meanwhile: then
  /// nobody knows (Catalog asks the next connection).
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  /// What came after SAVEPOINT `name` is undone, also a failure of the transaction.
  void undo_to_savepoint(const std::string& name) {
    if (memory) memory->forget_all();
    try {
      settle();
    } catch (const Error&) {  // of what is being undone
      if (!alive()) throw;
    }
    query("ROLLBACK TO SAVEPOINT " + name);
    query("RELEASE SAVEPOINT " + name);
    failed_ = false;
  }

  /// Like query() for a statement without rows. PostgreSQL gets it without waiting for the answer, so an error may show
  /// only at the next query(), settle() or commit().
  virtual void post(std::string_view sql, std::span<const Value> parameters) = 0;
  virtual void settle() = 0;
  template <class... P>
  void post(std::string_view sql, const P&... parameters) {
    const std::vector<Value> values{Value(parameters)...};
    post(sql, std::span<const Value>(values));
  }

  /// Takes the lock of the one service that may write this catalog and holds it as long as this connection lives; false
  /// if another has it.
  virtual bool lock_writing() = 0;
  /// Waits for others that migrate the same catalog, until the end of the transaction.
  virtual void lock_migration() = 0;
  /// Whether an answer to a commit can get lost on its way.
  virtual bool remote() const = 0;

  bool wrote() const { return wrote_; }    // since forget_wrote(): a statement that is more than a SELECT
  bool failed() const { return failed_; }  // since begin: a statement failed, so the transaction may be no good
  void forget_wrote() { wrote_ = false; }
  bool damaged() const { return damaged_; }  // what was read is not what a database writes

  /// Set by the one writer; null else.
  std::unique_ptr<WriterMemory> memory;

 protected:
  bool wrote_ = false, failed_ = false, damaged_ = false;
};

std::unique_ptr<Connection> open_connection(const std::string& url);
std::unique_ptr<Connection> open_sqlite(const std::string& path);
std::unique_ptr<Connection> open_postgresql(const std::string& url);

inline Connection& connection(Database& database) {
  auto* found = dynamic_cast<Connection*>(&database);
  LINAC_CHECK(found != nullptr);
  return *found;
}

/// The words for a statement that took longer than it may.
Refusal too_long(std::chrono::milliseconds limit);
/// Longer ones are not kept prepared: they are of searches, each of its own, and a thousand of them fill the memory.
constexpr size_t kKeptSqlBytesMax = 4096;

/// What both databases would otherwise treat differently: text has to be UTF-8 without zero bytes; kInvalid.
void check_text(std::string_view text);

}  // namespace linac::catalog
