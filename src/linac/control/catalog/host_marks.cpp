#include "linac/control/catalog/host_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"

namespace linac::catalog {
namespace {

constexpr size_t kHostBytesMax = 255;

void check_host(const std::string& host) {
  const bool good = !host.empty() && host.size() <= kHostBytesMax && std::all_of(host.begin(), host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
  if (!good)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[hosts] '{}' is no name of a host: letters, digits and .-_:",
                                                     printable(host.substr(0, 80))));
}

}  // namespace

void mark_host(Database& database, HostMark mark) {
  check_host(mark.host);
  const bool there =
      database.first("SELECT 1 FROM host_marks WHERE host = $1 AND user_name = $2", mark.host, mark.user).has_value();
  const int64_t count = database.first("SELECT COUNT(*) FROM host_marks WHERE user_name = $1", mark.user)->integer(0);
  if (!there && count >= static_cast<int64_t>(kHostMarksMax))
    throw Refusal(RefusalKind::kLimit, fmt::format("[hosts] {} hosts are marked, which is the most; clear some "
                                                   "(linac hosts clear HOST)",
                                                   count));
  database.query(
      "INSERT INTO host_marks (host, user_name, worker, core, what, run, marked_ms) VALUES ($1, $2, $3, $4, $5, $6, "
      "$7) ON CONFLICT (host, user_name) DO UPDATE SET worker = excluded.worker, core = excluded.core, what = "
      "excluded.what, run = excluded.run, marked_ms = excluded.marked_ms",
      mark.host, mark.user, printable(mark.worker), printable(mark.core), printable(mark.what), mark.run,
      mark.marked_ms);
}

std::vector<HostMark> host_marks(Database& database) {
  std::vector<HostMark> marks;
  for (const Row& row : database.query(
           "SELECT host, user_name, worker, core, what, run, marked_ms FROM host_marks ORDER BY host, user_name"))
    marks.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.integer(6)});
  return marks;
}

std::vector<std::string> hosts_to_avoid(Database& database, const std::string& user) {
  std::vector<std::string> hosts;
  for (const Row& row : database.query(
           "SELECT DISTINCT host FROM host_marks WHERE user_name = '' OR user_name = $1 ORDER BY host", user))
    hosts.push_back(row.text(0));
  return hosts;
}

void clear_host(Database& database, const std::string& host) {
  if (!database.first("SELECT 1 FROM host_marks WHERE host = $1 LIMIT 1", host))
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[hosts] '{}' is not marked; `linac hosts list` shows those that are",
                              printable(host.substr(0, 80))));
  database.query("DELETE FROM host_marks WHERE host = $1", host);
}

}  // namespace linac::catalog
