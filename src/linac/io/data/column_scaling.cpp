#include "linac/io/data/column_scaling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/json_keys.h"

namespace linac::data {
namespace {

using nlohmann::json;

constexpr int64_t kBlockEvents = 128;

/// The lists of one column in a file, with errors that say where.
class Constants {
 public:
  Constants(const std::filesystem::path& path, const std::string& column, size_t length)
      : path_(path.string()), column_(column), length_(length) {
    std::string text;
    try {
      text = read_file(path);
      file_ = json::parse(text);
    } catch (const Error&) {
      fail("cannot be read");
    } catch (const json::exception& error) {
      fail(fmt::format("not JSON ({})", error.what()));
    }
    if (const auto doubled = doubled_key(text)) fail(doubled->words());
    if (!file_.is_object() || !file_.contains(column) || !file_.at(column).is_object()) {
      std::vector<std::string> found;
      for (const auto& item : file_.items())
        if (item.value().is_object()) found.push_back(item.key());
      fail(fmt::format("no constants of the column '{}' (found: {})", column,
                       found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "))));
    }
  }

  std::vector<double> list(const char* key) const {
    const json& constants = file_.at(column_);
    if (!constants.contains(key)) fail(fmt::format("column '{}' has no '{}'", column_, key));
    const json& values = constants.at(key);
    const auto good = [](const json& value) {
      return value.is_number() && std::abs(value.get<double>()) <= std::numeric_limits<float>::max();
    };
    if (!values.is_array() || !std::all_of(values.begin(), values.end(), good))
      fail(fmt::format("'{}' of the column '{}' is no list of finite numbers", key, column_));
    if (length_ > 0 && values.size() != length_) {
      fail(fmt::format("'{}' of the column '{}' has {} numbers, wanted are {}, as many as features", key, column_,
                       values.size(), length_));
    }
    return values.get<std::vector<double>>();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format(
        "[scaling] {}: {}; `linac data scaling` computes the constants from the training events", path_, what));
  }

 private:
  std::string path_, column_;
  size_t length_;
  json file_;
};

/// Of the values at one position of the last axis.
struct FeatureSums {
  int64_t count = 0;
  double mean = 0, squares = 0;  // squares: sum of squared distances from the mean
  double low = std::numeric_limits<double>::infinity(), high = -low;

  // Welford's update (Technometrics 4 (1962) 419): no difference of large sums.
  void add(double x) {
    ++count;
    const double distance = x - mean;
    mean += distance / static_cast<double>(count);
    squares += distance * (x - mean);
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

/// Adds an event's values, without the rows that pad it.
void add_event(const float* values, size_t count, std::optional<float> padding, std::vector<FeatureSums>& sums) {
  const size_t row = sums.size();
  for (size_t first = 0; first < count; first += row) {
    const auto pads = [&](float x) { return x == *padding; };
    if (padding && std::all_of(values + first, values + first + row, pads)) continue;
    for (size_t i = 0; i < row; ++i) sums[i].add(values[first + i]);
  }
}

json to_json(const std::vector<FeatureSums>& sums) {
  json out;
  for (const FeatureSums& feature : sums) {
    const bool any = feature.count > 0;
    out["mean"].push_back(feature.mean);
    out["std"].push_back(any ? std::sqrt(feature.squares / static_cast<double>(feature.count)) : 0);
    out["min"].push_back(any ? feature.low : 0);
    out["max"].push_back(any ? feature.high : 0);
  }
  return out;
}

}  // namespace

ColumnScaling read_scaling(const std::filesystem::path& path, const std::string& column, const std::string& method,
                           size_t length) {
  const bool standard = method == "standard";
  if (!standard && method != "min_max")
    throw user_error(fmt::format("[scaling] no method '{}' (known: standard, min_max)", method));
  const Constants constants(path, column, length);
  const std::vector<double> offset = constants.list(standard ? "mean" : "min");
  std::vector<double> spread = constants.list(standard ? "std" : "max");
  if (offset.empty() || spread.size() != offset.size())
    constants.fail(fmt::format("the lists of column '{}' are empty, or of two lengths", column));
  ColumnScaling scaling;
  for (size_t i = 0; i < offset.size(); ++i) {
    if (!standard) spread[i] -= offset[i];
    if (spread[i] < 0) {
      constants.fail(fmt::format("column '{}': feature {} has {}", column, i,
                                 standard ? "a negative 'std'" : "a 'max' below its 'min'"));
    }
    const auto factor = static_cast<float>(spread[i] == 0 ? 1 : 1 / spread[i]);
    scaling.offset.push_back(static_cast<float>(offset[i]));
    scaling.factor.push_back(std::isfinite(factor) ? factor : 1);
  }
  return scaling;
}

void write_scaling(const EventTable& table, const std::filesystem::path& path) {
  const std::vector<ColumnRequest>& columns = table.columns();
  std::vector<std::vector<FeatureSums>> sums;
  for (const ColumnRequest& column : columns) {
    LINAC_CHECK(column.offset.empty() && column.factor.empty());
    sums.emplace_back(column.shape.empty() ? 1 : static_cast<size_t>(column.shape.back()));
  }
  TableBatch batch;
  for (int64_t first = 0; first < table.size(); first += kBlockEvents) {
    std::vector<int64_t> events(static_cast<size_t>(std::min(kBlockEvents, table.size() - first)));
    std::iota(events.begin(), events.end(), first);
    table.read(events, batch);
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto padding = columns[i].shape.size() == 2 ? std::optional(columns[i].padding) : std::nullopt;
      const size_t count = batch.columns[i].size() / events.size();
      for (size_t event = 0; event < events.size(); ++event)
        add_event(batch.columns[i].data() + event * count, count, padding, sums[i]);
    }
  }
  json out = {{"events", table.size()}};
  for (size_t i = 0; i < columns.size(); ++i) out[columns[i].column] = to_json(sums[i]);
  write_file_atomically(path, out.dump(1) + "\n");
}

}  // namespace linac::data
