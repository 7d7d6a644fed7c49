#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <cstring>
#include <unordered_map>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/postgresql_values.h"

namespace linac::catalog {
namespace {

constexpr size_t kStatementsMax = 512;
constexpr int kPendingMax = 128;  // answers that the server may keep for us: far less than a socket's buffer holds
// Any two numbers, the same in every linac.
constexpr int64_t kWritingLock = 0x6C696E6163000001, kMigrationLock = 0x6C696E6163000002;

struct Free {
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGconn* handle) const { PQfinish(handle); }
};
using Result = std::unique_ptr<PGresult, Free>;

/// Without the line break at its end, in one line.
std::string one_line(const char* message) {
  std::string text = message ? message : "";
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

/// Always in libpq's pipeline mode: statements go out one after the other, and the answers are read when one is wanted.
class PostgresqlConnection final : public Connection {
 public:
  explicit PostgresqlConnection(const std::string& url) {
    // What stands in front of dbname, the URL may override. A server that vanished is noticed in some 20 s.
    const std::array keywords{"application_name",
                              "connect_timeout",
                              "keepalives_idle",
                              "keepalives_interval",
                              "keepalives_count",
                              "tcp_user_timeout",
                              "dbname",
                              "client_encoding",
                              static_cast<const char*>(nullptr)};
    const std::array values{
        "linac", "10", "10", "5", "2", "20000", url.c_str(), "UTF8", static_cast<const char*>(nullptr)};
    handle_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
    if (!handle_) throw environment_error("[catalog] PostgreSQL: no memory for a connection");
    if (PQstatus(handle_.get()) != CONNECTION_OK) {
      throw environment_error(
          fmt::format("[catalog] {}: no connection ({}); is the server running, and are name and password right?",
                      place(url), without_password(one_line(PQerrorMessage(handle_.get())))));
    }
    place_ = place(url);
    PQsetNoticeProcessor(
        handle_.get(), [](void*, const char*) {}, nullptr);
    LINAC_CHECK(PQenterPipelineMode(handle_.get()) == 1);
    // An administrator may have switched it off for all; what is acknowledged here has to be on the disk.
    query("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'");
  }

  std::vector<Row> query(std::string_view sql, std::span<const Value> parameters) override {
    send(sql, parameters);
    const Result result = receive(sql);
    if (limit_.bytes > 0 && bytes_of(result.get()) > limit_.bytes) throw TooLarge(limit_.bytes);
    return PQresultStatus(result.get()) == PGRES_TUPLES_OK ? rows_of(result.get()) : std::vector<Row>();
  }
  using Database::query;

  void post(std::string_view sql, std::span<const Value> parameters) override {
    send(sql, parameters);
    if (pending_ >= kPendingMax) settle();
  }
  using Connection::post;
  void settle() override {
    if (pending_ > 0) receive("posted statements");
  }

  void script(std::string_view sql) override {
    settle();
    LINAC_CHECK(PQexitPipelineMode(handle_.get()) == 1);
    const Result result(PQexec(handle_.get(), std::string(sql).c_str()));
    std::optional<Failure> failure;
    note(result.get(), failure);
    if (PQstatus(handle_.get()) == CONNECTION_OK) PQenterPipelineMode(handle_.get());
    if (failure) raise(*failure, sql);
  }
  const char* blob_type() const override { return "BYTEA"; }
  bool alive() const override { return PQstatus(handle_.get()) == CONNECTION_OK && !lost_; }

  void begin_write() override { begin("BEGIN"); }
  void begin_read(ReadLimit limit) override {
    limit_ = limit;
    begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (limit.time.count() == 0) return;
    const bool wrote = wrote_;
    send(fmt::format("SET LOCAL statement_timeout = {}", limit.time.count()), {});
    wrote_ = wrote;
  }
  void commit() override {
    send("COMMIT", {});
    const Result result = receive("COMMIT");
    if (std::strcmp(PQcmdStatus(result.get()), "COMMIT") != 0) {
      failed_ = true;
      throw Error(ErrorCode::kInternal, "[catalog] PostgreSQL undid a transaction in which a statement had failed");
    }
  }
  void rollback() noexcept override {
    if (memory) memory->forget_all();
    try {
      if (pending_ > 0) settle();
    } catch (...) {  // of a statement that is undone anyway
    }
    try {
      if (alive() && PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) query("ROLLBACK");
    } catch (...) {
      lost_ = true;
    }
  }

  bool lock_writing() override {
    return query("SELECT pg_try_advisory_lock($1)", kWritingLock).front().integer(0) != 0;
  }
  void lock_migration() override { query("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)", kMigrationLock); }
  bool remote() const override { return true; }

 private:
  struct Failure {
    std::string state, message;
  };

  /// Host and name of a URL, without who and password.
  static std::string place(const std::string& url) {
    const size_t begin = url.find("://") + 3, end = url.find('?', begin);
    const size_t at = url.rfind('@', end);
    return "postgresql://" +
           url.substr(at == std::string::npos || at < begin ? begin : at + 1,
                      end == std::string::npos ? end : end - (at == std::string::npos ? begin : at + 1));
  }
  std::string without_password(std::string message) const {
    const char* password = PQpass(handle_.get());
    if (password == nullptr || *password == '\0') return message;
    for (size_t at; (at = message.find(password)) != std::string::npos;)
      message.replace(at, std::strlen(password), "...");
    return message;
  }

  static size_t bytes_of(const PGresult* result) {
    size_t bytes = 0;
    for (int row = 0; row < PQntuples(result); ++row)
      for (int i = 0; i < PQnfields(result); ++i)
        bytes += kValueBytes + static_cast<size_t>(PQgetlength(result, row, i));
    return bytes;
  }

  void begin(const char* how) {
    failed_ = false;
    const bool wrote = wrote_;
    send(how, {});
    wrote_ = wrote;
  }

  void send(std::string_view sql, std::span<const Value> values) {
    const PostgresqlParameters parameters(values);
    const std::string& name = prepared(sql, parameters);
    if (PQsendQueryPrepared(handle_.get(), name.c_str(), parameters.size(), parameters.pointers(), parameters.lengths(),
                            parameters.formats(), 1) != 1)
      raise({"", PQerrorMessage(handle_.get())}, sql);
    ++pending_;
    if (sql.substr(0, 6) != "SELECT") wrote_ = true;
  }

  const std::string& prepared(std::string_view sql, const PostgresqlParameters& parameters) {
    key_.assign(parameters.signature()).append(1, ' ').append(sql);
    if (const auto found = statements_.find(key_); found != statements_.end()) return found->second;
    if (sql.size() > kKeptSqlBytesMax) {
      static const std::string kUnnamed;  // until the next one of no name
      prepare(kUnnamed, sql, parameters);
      return kUnnamed;
    }
    if (statements_.size() >= kStatementsMax) {
      statements_.clear();
      script("DEALLOCATE ALL");
    }
    const std::string name = fmt::format("s{}", ++names_);
    prepare(name, sql, parameters);
    unconfirmed_.push_back(key_);
    return statements_.emplace(key_, name).first->second;
  }
  void prepare(const std::string& name, std::string_view sql, const PostgresqlParameters& parameters) {
    if (PQsendPrepare(handle_.get(), name.c_str(), std::string(sql).c_str(), parameters.size(), parameters.types()) !=
        1)
      raise({"", PQerrorMessage(handle_.get())}, sql);
    ++pending_;
  }

  static void note(const PGresult* result, std::optional<Failure>& failure) {
    const ExecStatusType status = PQresultStatus(result);
    if (failure || status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY ||
        status == PGRES_PIPELINE_ABORTED || status == PGRES_PIPELINE_SYNC)
      return;
    const char* state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
    failure = Failure{state ? state : "", one_line(result ? PQresultErrorMessage(result) : "no answer")};
  }

  /// Reads the answers to all that was sent and returns the last; throws the first failure.
  Result receive(std::string_view sql) {
    std::optional<Failure> failure;
    Result last;
    if (PQpipelineSync(handle_.get()) != 1) failure = Failure{"", one_line(PQerrorMessage(handle_.get()))};
    bool synced = false;
    int ends = 0;  // of a statement's answers; without bound only if libpq has lost count
    while (!synced && ends <= pending_ && PQstatus(handle_.get()) == CONNECTION_OK) {
      Result result(PQgetResult(handle_.get()));
      if (!result) {
        ++ends;
        continue;
      }
      synced = PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC;
      note(result.get(), failure);
      if (!synced) last = std::move(result);
    }
    pending_ = 0;
    if (!synced) {
      lost_ = true;
      if (!failure) failure = Failure{"", one_line(PQerrorMessage(handle_.get()))};
    }
    if (failure) {
      for (const auto& key : unconfirmed_) statements_.erase(key);
      unconfirmed_.clear();
      raise(*failure, sql);
    }
    unconfirmed_.clear();
    return last;
  }

  [[noreturn]] void raise(const Failure& failure, std::string_view sql) {
    failed_ = true;
    const std::string_view state = failure.state;
    // Class 08 and 57P0x: the server has ended this connection, or is about to.
    if (lost_ || PQstatus(handle_.get()) != CONNECTION_OK || state.substr(0, 2) == "08" ||
        state.substr(0, 4) == "57P0") {
      lost_ = true;
      throw environment_error(fmt::format("[catalog] {}: the connection was lost ({}); is the server running?", place_,
                                          one_line(failure.message.c_str())));
    }
    if (state == "23505")
      throw Refusal(RefusalKind::kExists,
                    fmt::format("[catalog] that exists already ({}); choose another name", failure.message));
    if (state == "57014" && limit_.time.count() > 0) throw too_long(limit_.time);
    // 53: resources, 25006: read-only, 28 and 42501: rights, 58: the system, 40: deadlock, 57014 and 55P03: time-outs
    if (state.substr(0, 2) == "53" || state.substr(0, 2) == "58" || state.substr(0, 2) == "40" || state == "25006" ||
        state == "42501" || state == "57014" || state == "55P03")
      throw environment_error(
          fmt::format("[catalog] {}: {}; the server's administrator can help", place_, failure.message));
    throw Error(ErrorCode::kInternal, fmt::format("[catalog] {}: {} (in: {})", place_, failure.message, sql));
  }

  std::unique_ptr<PGconn, Free> handle_;
  std::string place_, key_;
  std::unordered_map<std::string, std::string> statements_;  // types and text → name
  std::vector<std::string> unconfirmed_;                     // prepared since the last answer
  ReadLimit limit_;                                          // of the read that began last
  int64_t names_ = 0;
  int pending_ = 0;
  bool lost_ = false;
};

}  // namespace

std::unique_ptr<Connection> open_postgresql(const std::string& url) {
  return std::make_unique<PostgresqlConnection>(url);
}

}  // namespace linac::catalog
