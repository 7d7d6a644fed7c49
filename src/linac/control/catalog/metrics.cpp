#include "linac/control/catalog/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "linac/control/catalog/records.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/series.h"

namespace linac::catalog {
namespace {

void check_points(std::span<const KeyedPoint> points) {
  for (const KeyedPoint& p : points) {
    if (p.key.empty() || p.key.size() > kKeyMax)
      throw Refusal(RefusalKind::kInvalid, fmt::format("[metrics] a metric's name has {} bytes ('{}'); give 1 to {}",
                                                       p.key.size(), p.key.substr(0, 40), kKeyMax));
  }
}

/// The run, from the writer's memory if it can be.
RememberedRun& remembered(Connection& c, const std::string& id, RememberedRun& otherwise) {
  if (c.memory) {
    if (RememberedRun* run = c.memory->run(id)) return *run;
    return c.memory->add_run(id, run_number(c, id, true));
  }
  otherwise.number = run_number(c, id, true);
  return otherwise;
}

using Curves = std::vector<std::pair<const std::string*, std::vector<Point>>>;

/// Remembers what the table has of these curves; of those that it has not, that they are new.
void learn_series(Connection& c, RememberedRun& run, const Curves& curves) {
  std::vector<const std::string*> unknown;
  for (const auto& [key, curve] : curves)
    if (!run.series.contains(*key)) unknown.push_back(key);
  if (unknown.empty()) return;
  if (run.names < 0) run.names = count_of_run(c, "series", run.number);
  const auto known =
      run.names == 0 ? std::unordered_map<std::string, SeriesState>() : read_series(c, run.number, unknown);
  for (const std::string* key : unknown) {
    const auto found = known.find(*key);
    if (found == known.end()) check_key("metric", *key);
    run.series.emplace(*key, found == known.end() ? SeriesState() : found->second);
    if (c.memory) c.memory->count_series();
  }
}

int64_t acknowledged_by_number(Database& database, int64_t run, const std::string& sender) {
  const auto row = database.first("SELECT sequence FROM senders WHERE run = $1 AND sender = $2", run, sender);
  return row ? row->integer(0) : 0;
}

struct SamePlace {
  size_t operator()(const Point& p) const {
    return static_cast<uint64_t>(p.step) * 1'000'003 + static_cast<uint64_t>(p.time_ms);
  }
};
struct Same {
  bool operator()(const Point& a, const Point& b) const { return same(a, b); }
};
using PointSet = std::unordered_set<Point, SamePlace, Same>;

/// The points of the curve at `from_step` to `to_step`, of its newest kLookedAtBlocks blocks there.
PointSet known_points(Connection& c, const SeriesState& state, int64_t from_step, int64_t to_step) {
  constexpr int64_t kLookedAtBlocks = 64;
  PointSet known;
  for (const Row& row : c.query("SELECT points FROM blocks WHERE series = $1 AND step_max >= $2 AND step_min <= $3 "
                                "ORDER BY first DESC LIMIT $4",
                                state.number, from_step, to_step, kLookedAtBlocks))
    for (const Point& point : unpacked(row.bytes(0)))
      if (point.step >= from_step && point.step <= to_step) known.insert(point);
  return known;
}

/// Without those that the curve has already, or that come twice. Only what is not behind the curve's last point can be
/// there, so who sends in order costs no look into the blocks.
void drop_repeated(Connection& c, std::vector<Point>& curve, const SeriesState& state) {
  const auto behind = [](const Point& p, const Point& last) {
    return p.step != last.step ? p.step > last.step : p.time_ms > last.time_ms;
  };
  bool fresh = state.count == 0 || behind(curve.front(), state.last);
  for (size_t i = 1; i < curve.size() && fresh; ++i) fresh = behind(curve[i], curve[i - 1]);
  if (fresh) return;
  PointSet known;
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const Point& p : curve) {
    if (state.count == 0 || behind(p, state.last)) continue;
    from = std::min(from, p.step);
    to = std::max(to, p.step);
  }
  if (from <= to && curve.size() == 1 && same(curve.front(), state.last)) {
    curve.clear();
    return;
  }
  if (from <= to) known = known_points(c, state, from, to);
  std::erase_if(curve, [&](const Point& p) { return !known.insert(p).second; });
}

}  // namespace

void append_points(Database& database, const std::string& run, std::span<const KeyedPoint> points, Repeated repeated) {
  check_points(points);
  Connection& c = connection(database);
  RememberedRun unremembered;
  RememberedRun& r = remembered(c, run, unremembered);

  // The curves in the order in which they first come, each with its points in order.
  Curves curves;
  std::unordered_map<std::string_view, size_t> places;
  for (const KeyedPoint& p : points) {
    const auto [at, added] = places.emplace(p.key, curves.size());
    if (added) curves.emplace_back(&p.key, std::vector<Point>());
    curves[at->second].second.push_back(p.point);
  }
  learn_series(c, r, curves);
  std::vector<FreshSeries> fresh;
  for (auto& [key, curve] : curves) {
    SeriesState& state = r.series.at(*key);
    if (repeated == Repeated::kOnce) drop_repeated(c, curve, state);
    if (curve.empty()) continue;
    if (state.number != 0)
      append_to_series(c, state, curve);
    else
      fresh.push_back({key, &state, curve});
  }
  if (fresh.empty()) return;
  if (r.names < 0) r.names = count_of_run(c, "series", r.number);
  check_count("metrics", r.names + static_cast<int64_t>(fresh.size()), kNamesOfRunMax);
  append_fresh(c, r.number, fresh);
  r.names += static_cast<int64_t>(fresh.size());
}

int64_t append_batch(Database& database, const std::string& run, const std::string& sender, int64_t sequence,
                     std::span<const KeyedPoint> points) {
  check_key("sender", sender);
  if (sequence < 1)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[metrics] batch {}; the first is number 1", sequence));
  Connection& c = connection(database);
  RememberedRun unremembered;
  const int64_t number = remembered(c, run, unremembered).number;
  const int64_t before = acknowledged_by_number(database, number, sender);
  if (sequence <= before) return before;
  if (sequence != before + 1)
    throw Refusal(RefusalKind::kState,
                  fmt::format("[metrics] batch {} of sender '{}' came and {} is expected; send from there", sequence,
                              sender, before + 1));
  append_points(database, run, points);
  c.post(
      "INSERT INTO senders (run, sender, sequence) VALUES ($1, $2, $3) "
      "ON CONFLICT (run, sender) DO UPDATE SET sequence = excluded.sequence",
      number, sender, sequence);
  return sequence;
}

int64_t acknowledged(Database& database, const std::string& run, const std::string& sender) {
  return acknowledged_by_number(database, run_number(database, run), sender);
}

std::string folder_place(Database& database, const std::string& run) {
  const auto row = database.first("SELECT place FROM folder_places WHERE run = $1", run_number(database, run));
  return row ? row->text(0) : "";
}

void set_folder_place(Database& database, const std::string& run, const std::string& place) {
  database.query(
      "INSERT INTO folder_places (run, place) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET place = excluded.place",
      run_number(database, run, true), place);
}

}  // namespace linac::catalog
