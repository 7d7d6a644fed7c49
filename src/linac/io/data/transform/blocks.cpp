#include "linac/io/data/transform/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/transform/split.h"

namespace linac::data {

TransformedBlocks::TransformedBlocks(std::string name, const std::vector<WantedColumn>& columns,
                                     const Transform& transform, const OpenReader& open, int64_t first,
                                     bool follow_rows)
    : name_(std::move(name)),
      split_(transform.split),
      plan_(plan_of(name_, columns, transform, open)),
      computed_(plan_.computed.size()),
      follow_rows_(follow_rows),
      first_(first) {}

bool TransformedBlocks::load() {
  first_ += static_cast<int64_t>(events_);
  plan_.reader->next(read_);
  events_ = read_[0].rows.size();
  if (events_ == 0) return false;
  selected_.stored += static_cast<int64_t>(events_);
  for (size_t i = 0; i < plan_.columns.size(); ++i) take(i);
  keys_.clear();
  for (const ColumnSource& key : plan_.keys)
    if (!key.computed) keys_.push_back(plan_.columns[key.place]);  // before lists are sorted
  for (PlannedRule& rule : plan_.rules) apply(rule);
  for (size_t i = 0; i < computed_.size(); ++i) compute(i);
  select();
  return true;
}

std::string TransformedBlocks::text_of(const ColumnSource& source, float code) const {
  return plan_.reader->texts(source.place).at(static_cast<size_t>(code)).text;
}

void TransformedBlocks::fail(size_t event_of_block, const std::string& what) const {
  throw data_error(fmt::format("[data] {}: event {}: {}", name_, event(event_of_block), what));
}

bool TransformedBlocks::in_a_rule(size_t i) const {
  return std::ranges::any_of(
      plan_.rules, [&](const PlannedRule& rule) { return std::ranges::find(rule.columns, i) != rule.columns.end(); });
}

void TransformedBlocks::take(size_t i) {
  BlockColumn& column = plan_.columns[i];
  column.data = std::move(read_[i]);
  if (plan_.asked[i].exact) {
    size_t values = 0;
    const size_t row = plan_.asked[i].as_stored ? column.data.row_size : column.row_size;
    for (const uint32_t rows : column.data.rows) values += rows * row;
    LINAC_CHECK(values == column.data.exact.size());  // a reader that does not know what is asked
  }
  if (plan_.asked[i].as_stored) column.row_size = column.data.row_size;
  if (column.type.axes == expression::Axes::kNumber && plan_.asked[i].exact) {
    for (size_t event = 0; event < events_; ++event) {
      if (column.data.rows[event] == 1) continue;
      fail(event, fmt::format("column '{}' is stored as {}, and as one number in the first event; write it as lists "
                              "in a format that says so (Parquet), or mend the event",
                              column.name, list_of(column.data.rows[event])));
    }
  }
  if (column.type.axes == expression::Axes::kList && plan_.asked[i].as_stored) column.row_size = 1;
  const bool followed = follow_rows_ && in_a_rule(i);
  const std::vector<uint32_t> stored = followed ? column.data.rows : std::vector<uint32_t>{};
  if (column.padding) column.strip();
  if (followed) column.follow(stored);
}

expression::Block TransformedBlocks::run(Formula& formula) const {
  std::vector<expression::Block> blocks;
  for (const ColumnSource& source : formula.sources) blocks.push_back(column(source).block());
  try {
    return formula.program.run(blocks, events_);
  } catch (const expression::Program::Fault& fault) {
    const expression::Expression& whole = formula.program.expression();
    fail(fault.event, fmt::format("{} = \"{}\": {}", whole.where, whole.text, fault.what));
  }
}

void TransformedBlocks::need_rows(const PlannedRule& rule, std::span<const uint32_t> found,
                                  const std::vector<uint32_t>& wanted, const std::string& what) const {
  const auto [bad, other] = std::ranges::mismatch(found, wanted);
  if (bad == found.end()) return;
  fail(static_cast<size_t>(bad - found.begin()),
       fmt::format("{}: {} has {} and column '{}' {}", rule.where, what, plural(*bad, "row"),
                   plan_.columns[rule.columns.front()].name, *other));
}

void TransformedBlocks::apply(PlannedRule& rule) {
  if (rule.columns.empty()) return;
  const std::vector<uint32_t> rows = plan_.columns[rule.columns.front()].data.rows;
  std::span<const double> filter, sort;
  if (rule.filter) {
    const expression::Block block = run(*rule.filter);
    need_rows(rule, block.rows, rows, "filter");
    filter = block.values;
  }
  if (rule.sort) {
    const expression::Block block = run(*rule.sort);
    need_rows(rule, block.rows, rows, "sort");
    sort = block.values;
  }
  std::vector<uint32_t> left;
  const std::vector<uint32_t> kept = kept_rows(rows, filter, sort, rule.first, left);
  for (const size_t i : rule.columns) {
    need_rows(rule, plan_.columns[i].data.rows, rows, fmt::format("column '{}'", plan_.columns[i].name));
    plan_.columns[i].rearrange(kept, left);
  }
}

void TransformedBlocks::compute(size_t i) {
  PlannedColumn& planned = plan_.computed[i];
  const expression::Block block = run(planned.formula);
  BlockColumn& column = computed_[i];
  column.name = planned.name;
  column.type = planned.formula.program.type();
  column.data.exact.assign(block.values.begin(), block.values.end());
  column.data.rows.assign(block.rows.begin(), block.rows.end());
  if (block.rows.empty()) column.data.rows.assign(events_, 1);
}

void TransformedBlocks::select() {
  passed_.clear();
  std::span<const double> passes;
  if (plan_.filter) passes = run(*plan_.filter).values;
  for (size_t event = 0; event < events_; ++event)
    if (passes.empty() || passes[event] != 0) passed_.push_back(event);
  selected_.passed += static_cast<int64_t>(passed_.size());
  if (split_) divide();
}

void TransformedBlocks::divide() {
  std::vector<const BlockColumn*> keys;
  size_t stored = 0;
  for (const ColumnSource& key : plan_.keys) keys.push_back(key.computed ? &computed_[key.place] : &keys_[stored++]);
  std::vector<size_t> places(keys.size(), 0);
  std::vector<double> values;
  parts_.resize(events_);
  folds_.resize(events_);
  for (size_t event = 0; event < events_; ++event) {
    values.clear();
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t count = keys[i]->values_of(event);
      const auto from = keys[i]->data.exact.begin() + static_cast<int64_t>(places[i]);
      values.insert(values.end(), from, from + static_cast<int64_t>(count));
      places[i] += count;
    }
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }))
      fail(event, "data.split.key: a value of its columns is NaN; name other columns");
    const double place = place_of_key(values);
    parts_[event] = part_of(place, *split_);
    if (split_->deals_folds()) folds_[event] = fold_of(place, *split_);
  }
}

}  // namespace linac::data
