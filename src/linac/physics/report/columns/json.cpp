#include <cmath>

#include "linac/base/columns/histogram.h"
#include "linac/physics/report/columns/words.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json to_json(const columns::SideStats& side) {
  Json files = Json::array();
  for (size_t i = 0; i < side.file_events.size(); ++i)
    files.push_back({{"url", side.urls[i]}, {"events", side.file_events[i]}});
  return {{"files", files}, {"events", side.events}, {"bytes", side.bytes}};
}

Json to_json(const columns::ColumnStats& column) {
  Json quantiles = Json::array(), classes = Json::array();
  for (const auto& [share, value] : column.quantiles) quantiles.push_back({share, number(value)});
  for (const auto& [name, events] : column.classes) classes.push_back({{"name", name}, {"events", events}});
  Json length = nullptr;
  if (column.is_list)
    length = {{"min", column.length_min}, {"max", column.length_max}, {"mean", number(column.length_mean)}};
  return {{"events", column.events},
          {"values", column.values},
          {"nulls", column.nulls},
          {"nan", column.nans},
          {"infinite", column.infinities},
          {"zeros", column.zeros},
          {"min", number(column.min)},
          {"max", number(column.max)},
          {"mean", number(column.mean)},
          {"std", number(column.std)},
          {"quantiles", quantiles},
          {"exact_quantiles", column.exact_quantiles},
          {"constant", column.is_constant()},
          {"length", length},
          {"places", column.places},
          {"constant_places", column.constant_places},
          {"first_constant_places", column.first_constant_places},
          {"classes", classes}};
}

Json column_json(const ColumnsReport& report, size_t i) {
  const columns::ColumnStats &train = report.stats.train.columns[i], *const test = test_column(report, i);
  std::vector<const columns::ColumnStats*> sides{&train};
  if (test != nullptr) sides.push_back(test);
  const columns::Histogram histogram = columns::histogram_of(sides);
  Json json{{"name", train.name}, {"stored", train.stored}, {"target", report.is_target(train.name)}};
  json["bin_edges"] = histogram.edges;
  json["train"] = to_json(train);
  json["test"] = test == nullptr ? Json(nullptr) : to_json(*test);
  for (size_t side = 0; side < histogram.shares.size(); ++side)
    json[side == 0 ? "train" : "test"]["bin_shares"] = histogram.shares[side];
  return json;
}

Json place_json(const ColumnsReport& report, columns::Duplicates::Side side, int64_t event) {
  const bool train = side == columns::Duplicates::Side::kTrain;
  const auto [url, place] = place_of(train ? report.stats.train : report.stats.test, event);
  return {{"side", train ? "train" : "test"}, {"file", url}, {"event", place}};
}

}  // namespace

nlohmann::ordered_json to_json(const ColumnsReport& report) {
  Json list = Json::array(), pairs = Json::array(), left_out = Json::array(), facts = Json::object();
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) list.push_back(column_json(report, i));
  const columns::Duplicates::Found& found = report.stats.duplicates;
  for (const auto& pair : found.pairs)
    pairs.push_back(
        {place_json(report, pair.first_side, pair.first), place_json(report, pair.second_side, pair.second)});
  for (const auto& [name, why] : report.stats.left_out) left_out.push_back({{"name", name}, {"why", why}});
  for (const auto& [name, value] : report.facts) facts[name] = value;
  return {{"title", report.title},
          {"train", to_json(report.stats.train)},
          {"test", report.has_test() ? to_json(report.stats.test) : Json(nullptr)},
          {"columns", list},
          {"duplicates",
           {{"looked_at", found.looked_at},
            {"train", found.train},
            {"test", found.test},
            {"leaked", found.leaked},
            {"pairs", pairs}}},
          {"findings", findings_of(report)},
          {"left_out", left_out},
          {"facts", facts},
          {"remarks", report.remarks}};
}

}  // namespace linac::report
