// The values of an expression.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/expression/program.h"

namespace linac::expression {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Where position `at` lies among `size`; nothing for one that is not there.
std::optional<size_t> found_at(int64_t at, size_t size) {
  const int64_t place = at < 0 ? at + static_cast<int64_t>(size) : at;
  if (place < 0 || place >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(place);
}

void spread(const Block& number, std::span<const uint32_t> rows, std::vector<double>& out) {
  size_t values = 0;
  for (const uint32_t count : rows) values += count;
  out.resize(values);
  double* at = out.data();
  for (size_t event = 0; event < rows.size(); ++event) at = std::fill_n(at, rows[event], number.values[event]);
}

}  // namespace

Block Program::run(std::span<const Block> columns, size_t events) {
  LINAC_CHECK(columns.size() == columns_.size());
  for (size_t i = 0; i < registers_.size(); ++i) {
    const Node& node = expression_.nodes[i];
    Register& out = registers_[i];
    switch (node.kind) {
      case NodeKind::kNumber:
        out.values.assign(events, node.number);
        out.result = {.values = out.values, .rows = {}};
        break;
      case NodeKind::kColumn:
        out.result = columns[places_[i]];
        break;
      case NodeKind::kCall:
        call(node, events, out);
        break;
      case NodeKind::kElement:
        take_element(node, events, out);
        break;
      case NodeKind::kSlice:
        take_slice(node, out);
        break;
    }
  }
  return registers_.back().result;
}

void Program::call(const Node& node, size_t events, Register& out) {
  const bool reduces =
      node.function->form == Form::kReduce || (node.function->form == Form::kEither && node.operands.size() == 1);
  if (reduces) return reduce(node, events, out);
  map(node, events, out);
}

void Program::refuse_lengths(const Node& node, std::span<const uint32_t> one, std::span<const uint32_t> other) const {
  const size_t event = static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
  throw Fault{event, fmt::format("'{}' at character {} meets lists of {} and of {}", node.function->name,
                                 node.place + 1, plural(one[event], "value"), other[event])};
}

void Program::map(const Node& node, size_t events, Register& out) {
  constexpr size_t kOperandsMax = 16;
  const size_t count = node.operands.size();
  LINAC_CHECK(count <= kOperandsMax);
  std::span<const uint32_t> rows;
  bool list = false;
  for (const size_t operand : node.operands) {
    const Block& block = registers_[operand].result;
    if (types_[operand].axes == Axes::kNumber) continue;
    const bool same = !list || (rows.data() == block.rows.data()) || std::ranges::equal(rows, block.rows);
    if (!same) refuse_lengths(node, rows, block.rows);
    rows = block.rows;
    list = true;
  }
  if (spread_.size() < count) spread_.resize(count);
  std::array<const double*, kOperandsMax> operands{};
  size_t values = events;
  for (size_t i = 0; i < count; ++i) {
    const Block& block = registers_[node.operands[i]].result;
    operands[i] = block.values.data();
    if (!list) continue;
    if (types_[node.operands[i]].axes == Axes::kNumber) {
      spread(block, rows, spread_[i]);
      operands[i] = spread_[i].data();
      values = spread_[i].size();
    } else {
      values = block.values.size();
    }
  }
  out.values.resize(values);
  node.function->map(operands.data(), out.values.data(), values);
  for (size_t i = 2; node.function->form == Form::kEither && i < count; ++i) {
    const std::vector<double> before = out.values;
    const std::array<const double*, 2> two{before.data(), operands[i]};
    node.function->map(two.data(), out.values.data(), values);
  }
  out.result = {.values = out.values, .rows = rows};
}

void Program::reduce(const Node& node, size_t events, Register& out) const {
  const Block& list = registers_[node.operands[0]].result;
  out.values.resize(events);
  const double* at = list.values.data();
  for (size_t event = 0; event < events; ++event) {
    out.values[event] = node.function->reduce(at, list.rows[event]);
    at += size_t{list.rows[event]} * list.row_size;
  }
  out.result = {.values = out.values, .rows = {}};
}

// What is not there is NaN: a condition on the second jet does not hold where there is none.
void Program::take_element(const Node& node, size_t events, Register& out) const {
  const Block& list = registers_[node.operands[0]].result;
  out.values.resize(events);
  size_t first = 0;
  for (size_t event = 0; event < events; ++event) {
    const auto row = found_at(node.positions[0], list.rows[event]);
    const auto value =
        node.positions.size() == 1 ? std::optional<size_t>(0) : found_at(node.positions[1], list.row_size);
    out.values[event] = row && value ? list.values[first + *row * list.row_size + *value] : kNan;
    if (row && !value) {
      throw Fault{event, fmt::format("character {} wants value {} of a row of {}", node.place + 1, node.positions[1],
                                     list.row_size)};
    }
    first += size_t{list.rows[event]} * list.row_size;
  }
  out.result = {.values = out.values, .rows = {}};
}

void Program::take_slice(const Node& node, Register& out) const {
  const Block& list = registers_[node.operands[0]].result;
  const size_t rows = list.row_size == 0 ? 0 : list.values.size() / list.row_size;
  const auto value = found_at(node.positions[0], list.row_size);
  if (rows > 0 && !value) {
    const auto event = static_cast<size_t>(std::ranges::find_if(list.rows, [](uint32_t count) { return count > 0; }) -
                                           list.rows.begin());
    throw Fault{event, fmt::format("character {} wants value {} of a row of {}", node.place + 1, node.positions[0],
                                   list.row_size)};
  }
  out.values.resize(rows);
  for (size_t row = 0; row < rows; ++row) out.values[row] = list.values[row * list.row_size + *value];
  out.result = {.values = out.values, .rows = list.rows};
}

}  // namespace linac::expression
