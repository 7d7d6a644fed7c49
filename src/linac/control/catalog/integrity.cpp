#include "linac/control/catalog/integrity.h"

#include <fmt/format.h>

#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/points.h"

namespace linac::catalog {
namespace {

constexpr const char* kDamaged = "is damaged";

bool sqlite(Database& database) {
  return !database.is_postgresql();
}

class Findings {
 public:
  explicit Findings(std::vector<std::string>& all) : all_(all) {}
  bool enough() const { return all_.size() >= kDamagesMax; }
  void add(std::string what) {
    if (!enough()) all_.push_back(std::move(what));
  }
  /// What cannot even be read is a finding.
  template <class F>
  void look(const char* at, F work) {
    try {
      work();
    } catch (const Error& e) {
      add(fmt::format("{}: {}", at, e.what()));
    }
  }

 private:
  std::vector<std::string>& all_;
};

void check_pages(Connection& c, Findings& findings) {
  for (const Row& row : c.query(fmt::format("PRAGMA integrity_check({})", kDamagesMax)))
    if (row.text(0) != "ok") findings.add(row.text(0));
  for (const Row& row : c.query("PRAGMA foreign_key_check")) {
    if (findings.enough()) return;
    findings.add(fmt::format("a row of {} refers to none of {}", row.text(0), row.text(2)));
  }
}

// A page of curves at a time, each block as long as it says and all of them as many points as the summary says.
void check_curves(Connection& c, Findings& findings) {
  constexpr int64_t kAtOnce = 500, kPointBytes = 24;
  const std::string sql = fmt::format(
      "SELECT s.number, s.key, r.id, s.count, CAST(COALESCE(SUM(b.count), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN "
      "LENGTH(b.points) = b.count * {} THEN 0 ELSE 1 END), 0) AS BIGINT) FROM (SELECT number, run, key, count FROM "
      "series WHERE number > $1 ORDER BY "
      "number LIMIT {}) s JOIN runs r ON r.number = s.run LEFT JOIN blocks b ON b.series = s.number GROUP BY s.number, "
      "s.key, r.id, s.count ORDER BY s.number",
      kPointBytes, kAtOnce);
  for (int64_t after = -1; !findings.enough();) {
    const auto rows = c.query(sql, after);
    if (rows.empty()) return;
    after = rows.back().integer(0);
    for (const Row& row : rows) {
      if (row.integer(3) != row.integer(4) || row.integer(5) != 0)
        findings.add(fmt::format("the curve '{}' of run {} has {} points, and {} by its summary", row.text(1),
                                 row.text(2), row.integer(4), row.integer(3)));
    }
  }
}

}  // namespace

std::vector<std::string> damage_of(const std::string& url) {
  std::vector<std::string> all;
  Findings findings(all);
  findings.look("the catalog", [&] {
    const auto c = open_connection(url);
    if (sqlite(*c)) findings.look("its pages", [&] { check_pages(*c, findings); });
    findings.look("its curves", [&] {
      c->begin_read();
      check_curves(*c, findings);
      c->rollback();
    });
  });
  return all;
}

std::string damage_of_pages(const std::string& url, const std::atomic<bool>& stop) {
  try {
    const auto c = open_connection(url);
    if (!sqlite(*c)) return "";
    for (const Row& row :
         c->query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")) {
      if (stop) return "";
      for (const Row& found : c->query(fmt::format("PRAGMA quick_check({})", row.text(0))))
        if (found.text(0) != "ok") return found.text(0);
    }
    return "";
  } catch (const Error& e) {
    const std::string why = e.what();
    return why.find(kDamaged) == std::string::npos ? "" : why;
  }
}

void change_beside_service(const std::string& url, const std::function<void(Database&)>& work) {
  const auto c = open_connection(url);
  const auto known = c->first("SELECT MAX(version) FROM schema_version");
  if (!known || known->null(0) || known->integer(0) != schema_version())
    throw user_error(
        "[catalog] is of another version of linac; start the service of this one once, or use the one that serves it");
  c->begin_write();
  try {
    work(*c);
    c->commit();
  } catch (...) {
    c->rollback();
    throw;
  }
}

}  // namespace linac::catalog
