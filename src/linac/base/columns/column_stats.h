#pragma once
// What the values of a column are like, gathered as they stream by, in bounded memory. Values are 32-bit floats, as a
// training reads them. One thread.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/columns/sample.h"

namespace linac::columns {

struct ColumnStats {
  std::string name, stored;  // "GRU_input", "list<list<float>>"
  bool is_text = false, is_list = false;
  int64_t events = 0, values = 0;
  int64_t nulls = 0, nans = 0, infinities = 0, zeros = 0;  // nulls are NaN, and counted as nulls alone
  double min = 0, max = 0, mean = 0, std = 0;              // of the finite values; std of the population
  std::vector<Quantile> quantiles;                         // of the finite values
  bool exact_quantiles = true;
  std::vector<float> sample;  // rising
  // Of lists: rows, where they are lists of rows.
  int64_t length_min = 0, length_max = 0;
  double length_mean = 0;
  std::vector<Quantile> length_quantiles;
  // Of lists with the same number of values in every event, kPlacesMax at most: else 0.
  int64_t places = 0, constant_places = 0;
  std::vector<int64_t> first_constant_places;  // kShownPlaces at most
  /// Events of each class: texts, the values of a column of few different numbers, or the places of the ones in lists
  /// of one 1 among zeros. Empty where it is none of these.
  std::vector<std::pair<std::string, int64_t>> classes;

  int64_t finite() const { return values - nulls - nans - infinities; }
  /// The same value in all events.
  bool is_constant() const;
};

inline constexpr size_t kClassesMax = 50;
inline constexpr size_t kPlacesMax = 4096;
inline constexpr size_t kShownPlaces = 10;

/// A column in a run of events: event i has rows[i] rows and sizes[i] values, which follow those of the events before.
struct ColumnBlock {
  std::span<const float> values;
  std::span<const uint32_t> rows, sizes;
  int64_t nulls = 0;  // of the values, as NaN
};

class ColumnGatherer {
 public:
  /// `number` tells columns apart.
  ColumnGatherer(std::string name, std::string stored, bool is_text, uint32_t number);

  /// Of a column of texts the rows alone count.
  void add(const ColumnBlock& block);
  /// A text of a file, and how many of its events have it.
  void add_text(const std::string& text, int64_t events);
  ColumnStats finish();

 private:
  std::span<const float> finite_of(std::span<const float> values);
  void add_values(std::span<const float> values);
  void add_lengths(const ColumnBlock& block);
  void add_numbers(const ColumnBlock& block);
  void add_places(const ColumnBlock& block);
  void add_hot(std::span<const float> event);
  void finish_places(ColumnStats& out) const;
  void finish_classes(ColumnStats& out);

  ColumnStats stats_;
  Sample sample_, lengths_;
  std::vector<float> finite_, block_lengths_;  // room
  double shift_ = 0, sum_ = 0, squares_ = 0;   // of value - shift_
  double length_sum_ = 0;
  std::vector<std::pair<float, int64_t>> distinct_;  // rising
  bool few_distinct_ = true, is_one_hot_ = true, is_fixed_ = true;
  std::vector<int64_t> hot_;
  std::vector<float> place_first_;
  std::vector<bool> place_varies_;
  std::vector<std::pair<std::string, int64_t>> texts_;
};

}  // namespace linac::columns
