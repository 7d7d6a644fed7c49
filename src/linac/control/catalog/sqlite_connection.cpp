#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/catalog/connection.h"

namespace linac::catalog {
namespace {

constexpr size_t kStatementsMax = 512;
constexpr int kBusyMs = 10000;
constexpr int kStepsBetweenLooks = 20000;  // of SQLite's machine, some milliseconds
using Clock = std::chrono::steady_clock;

struct Statement {
  sqlite3_stmt* handle = nullptr;
  std::vector<int> numbers;  // of the parameters in SQLite's order: it takes "$7" for a name, not for the seventh
};

class SqliteConnection final : public Connection {
 public:
  explicit SqliteConnection(const std::string& path) : path_(path) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) {
      const std::string reason = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
      sqlite3_close_v2(handle_);
      throw environment_error(fmt::format(
          "[catalog] {}: cannot be opened ({}); does its folder exist, and may it be written?", path, reason));
    }
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, kBusyMs);
    try {
      // FULL: a commit is on the disk before it is acknowledged, also if the power fails.
      script(
          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384;"
          "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000; PRAGMA case_sensitive_like = ON");
    } catch (...) {
      sqlite3_close_v2(handle_);
      throw;
    }
  }
  ~SqliteConnection() override {
    forget_statements();
    sqlite3_close_v2(handle_);
  }

  std::vector<Row> query(std::string_view sql, std::span<const Value> parameters) override {
    Statement& statement = prepared(sql);
    sqlite3_stmt* s = statement.handle;
    const struct Reset {
      SqliteConnection& connection;
      sqlite3_stmt* s;
      std::string_view sql;
      ~Reset() {
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        if (sql.size() > kKeptSqlBytesMax) connection.forget(sql);
      }
    } reset{*this, s, sql};
    for (size_t i = 0; i < statement.numbers.size(); ++i) {
      const auto number = static_cast<size_t>(statement.numbers[i]);
      if (number == 0 || number > parameters.size())
        throw Error(ErrorCode::kInternal, fmt::format("[catalog] no value for a parameter of: {}", sql));
      bind(s, static_cast<int>(i) + 1, parameters[number - 1]);
    }
    if (!sqlite3_stmt_readonly(s)) wrote_ = true;
    std::vector<Row> rows;
    size_t bytes = 0;
    for (;;) {
      const int code = sqlite3_step(s);
      if (code == SQLITE_DONE) return rows;
      if (code != SQLITE_ROW) fail(code, sql);
      if (limit_.bytes > 0 && (bytes += bytes_of_row(s)) > limit_.bytes) throw TooLarge(limit_.bytes);
      rows.push_back(row(s));
    }
  }
  using Database::query;

  void script(std::string_view sql) override {
    const int code = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code, sql);
  }
  const char* blob_type() const override { return "BLOB"; }
  bool alive() const override { return true; }

  void begin_write() override { begin("BEGIN IMMEDIATE"); }
  void begin_read(ReadLimit limit) override {
    begin("BEGIN");
    limit_ = limit;
    until_ = Clock::now() + limit.time;
    if (limit.time.count() > 0) sqlite3_progress_handler(handle_, kStepsBetweenLooks, over, this);
  }
  void commit() override {
    without_limit();
    query("COMMIT");
  }
  void rollback() noexcept override {
    without_limit();
    if (memory) memory->forget_all();
    if (!sqlite3_get_autocommit(handle_)) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void post(std::string_view sql, std::span<const Value> parameters) override { query(sql, parameters); }
  using Connection::post;
  void settle() override {}

  /// Not the locks of SQLite itself, which last for a transaction: two services would take turns and each act on what
  /// it remembers.
  bool lock_writing() override {
    Descriptor file(::open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file)
      throw environment_error(fmt::format("[catalog] {}.lock: cannot be opened ({}); the folder has to be writable",
                                          path_, std::strerror(errno)));
    if (!try_lock_alone(file.get())) return false;
    lock_ = std::move(file);
    return true;
  }
  void lock_migration() override {}  // BEGIN IMMEDIATE is one
  bool remote() const override { return false; }

 private:
  static int over(void* self) { return Clock::now() > static_cast<SqliteConnection*>(self)->until_ ? 1 : 0; }
  void without_limit() {
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    limit_ = {};
  }

  void begin(std::string_view how) {
    failed_ = false;
    query(how);
  }

  Statement& prepared(std::string_view sql) {
    key_.assign(sql);
    if (const auto found = statements_.find(key_); found != statements_.end()) return found->second;
    if (statements_.size() >= kStatementsMax) forget_statements();
    Statement statement;
    const int code = sqlite3_prepare_v3(handle_, key_.c_str(), static_cast<int>(key_.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement.handle, nullptr);
    if (code != SQLITE_OK) fail(code, sql);
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement.handle); ++i) {
      const char* name = sqlite3_bind_parameter_name(statement.handle, i);
      statement.numbers.push_back(name ? std::atoi(name + 1) : 0);
    }
    return statements_.emplace(key_, std::move(statement)).first->second;
  }
  void forget(std::string_view sql) {
    const auto found = statements_.find(std::string(sql));
    sqlite3_finalize(found->second.handle);
    statements_.erase(found);
  }
  void forget_statements() {
    for (auto& [text, statement] : statements_) sqlite3_finalize(statement.handle);
    statements_.clear();
  }

  void bind(sqlite3_stmt* s, int index, const Value& value) {
    int code = SQLITE_OK;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      code = sqlite3_bind_int64(s, index, *integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      LINAC_CHECK(!std::isnan(*number));
      code = sqlite3_bind_double(s, index, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      check_text(*text);
      code = sqlite3_bind_text64(s, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
      // A null pointer would be bound as NULL.
      code = sqlite3_bind_blob64(s, index, bytes->empty() ? static_cast<const void*>("") : bytes->data(), bytes->size(),
                                 SQLITE_STATIC);
    } else {
      code = sqlite3_bind_null(s, index);
    }
    if (code != SQLITE_OK) fail(code, "bind");
  }

  static size_t bytes_of_row(sqlite3_stmt* s) {
    const int columns = sqlite3_column_count(s);
    size_t bytes = 0;
    for (int i = 0; i < columns; ++i) {
      const int type = sqlite3_column_type(s, i);
      bytes += kValueBytes;
      if (type == SQLITE_TEXT || type == SQLITE_BLOB) bytes += static_cast<size_t>(sqlite3_column_bytes(s, i));
    }
    return bytes;
  }

  static Row row(sqlite3_stmt* s) {
    std::vector<Value> values;
    const int columns = sqlite3_column_count(s);
    values.reserve(static_cast<size_t>(columns));
    for (int i = 0; i < columns; ++i) {
      switch (sqlite3_column_type(s, i)) {
        case SQLITE_INTEGER:
          values.emplace_back(static_cast<int64_t>(sqlite3_column_int64(s, i)));
          break;
        case SQLITE_FLOAT:
          values.emplace_back(sqlite3_column_double(s, i));
          break;
        case SQLITE_TEXT:
          values.emplace_back(std::string(reinterpret_cast<const char*>(sqlite3_column_text(s, i)),
                                          static_cast<size_t>(sqlite3_column_bytes(s, i))));
          break;
        case SQLITE_BLOB: {
          const auto* begin = static_cast<const std::byte*>(sqlite3_column_blob(s, i));
          values.emplace_back(begin ? Bytes(begin, begin + sqlite3_column_bytes(s, i)) : Bytes());
          break;
        }
        default:
          values.emplace_back();
      }
    }
    return Row(std::move(values));
  }

  [[noreturn]] void fail(int code, std::string_view sql) {
    failed_ = true;
    const std::string reason = sqlite3_errmsg(handle_);
    if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_ROWID)
      throw Refusal(RefusalKind::kExists,
                    fmt::format("[catalog] that exists already ({}); choose another name", reason));
    switch (code & 0xFF) {
      case SQLITE_INTERRUPT:
        throw too_long(limit_.time);
      case SQLITE_ERROR:
      case SQLITE_CONSTRAINT:
      case SQLITE_MISMATCH:
      case SQLITE_MISUSE:
      case SQLITE_RANGE:
        throw Error(ErrorCode::kInternal, fmt::format("[catalog] {}: {} (in: {})", path_, reason, sql));
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw environment_error(
            fmt::format("[catalog] {}: is being written by another program for more than {} s ({}); end that "
                        "program",
                        path_, kBusyMs / 1000, reason));
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT:
        damaged_ = true;
        throw environment_error(
            fmt::format("[catalog] {}: is damaged or no database ({}); restore it from a backup", path_, reason));
      default:
        throw environment_error(
            fmt::format("[catalog] {}: cannot be read or written ({}); is the disk full or read-only?", path_, reason));
    }
  }

  std::string path_, key_;
  Descriptor lock_;
  sqlite3* handle_ = nullptr;
  ReadLimit limit_;  // of the read that goes on
  Clock::time_point until_;
  std::unordered_map<std::string, Statement> statements_;
};

}  // namespace

std::unique_ptr<Connection> open_sqlite(const std::string& path) {
  return std::make_unique<SqliteConnection>(path);
}

}  // namespace linac::catalog
