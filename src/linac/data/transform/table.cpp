#include "linac/data/transform/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"
#include "linac/base/plural.h"
#include "linac/data/transform/plan.h"
#include "linac/data/transform/split.h"

namespace linac::data {
namespace {

template <class T>
void append(const std::vector<T>& from, size_t begin, size_t end, std::vector<float>& to) {
  const size_t old = to.size();
  to.resize(old + end - begin);
  std::transform(from.begin() + static_cast<int64_t>(begin), from.begin() + static_cast<int64_t>(end),
                 to.begin() + static_cast<int64_t>(old), [](T value) { return static_cast<float>(value); });
}

}  // namespace

class TransformedTable::Parts {
 public:
  Parts(std::string name, const std::vector<WantedColumn>& columns, const Transform& transform, const OpenReader& open)
      : name_(std::move(name)),
        split_(transform.split),
        plan_(plan_of(name_, columns, transform, open)),
        computed_(plan_.computed.size()) {}

  const Plan& plan() const { return plan_; }
  const Selected& selected() const { return selected_; }
  int64_t event(size_t i) const { return first_ + static_cast<int64_t>(i); }

  /// The next block, and which events of it are handed out; false after the last.
  bool load(std::vector<size_t>& kept) {
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
    select(kept);
    return true;
  }

  const BlockColumn& column(const ColumnSource& source) const {
    return source.computed ? computed_[source.place] : plan_.columns[source.place];
  }

  std::string text_of(const ColumnSource& source, float code) const {
    return plan_.reader->texts(source.place).at(static_cast<size_t>(code)).text;
  }

  [[noreturn]] void fail(size_t event_of_block, const std::string& what) const {
    throw data_error(fmt::format("[data] {}: event {}: {}", name_, event(event_of_block), what));
  }

 private:
  void take(size_t i) {
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
    if (column.zeros_pad) column.strip();
  }

  expression::Block run(Formula& formula) const {
    std::vector<expression::Block> blocks;
    for (const ColumnSource& source : formula.sources) blocks.push_back(column(source).block());
    try {
      return formula.program.run(blocks, events_);
    } catch (const expression::Program::Fault& fault) {
      const expression::Expression& whole = formula.program.expression();
      fail(fault.event, fmt::format("{} = \"{}\": {}", whole.where, whole.text, fault.what));
    }
  }

  void need_rows(const PlannedRule& rule, std::span<const uint32_t> found, const std::vector<uint32_t>& wanted,
                 const std::string& what) const {
    const auto [bad, other] = std::ranges::mismatch(found, wanted);
    if (bad == found.end()) return;
    fail(static_cast<size_t>(bad - found.begin()),
         fmt::format("{}: {} has {} and column '{}' {}", rule.where, what, plural(*bad, "row"),
                     plan_.columns[rule.columns.front()].name, *other));
  }

  void apply(PlannedRule& rule) {
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

  void compute(size_t i) {
    PlannedColumn& planned = plan_.computed[i];
    const expression::Block block = run(planned.formula);
    BlockColumn& column = computed_[i];
    column.name = planned.name;
    column.type = planned.formula.program.type();
    column.data.exact.assign(block.values.begin(), block.values.end());
    column.data.rows.assign(block.rows.begin(), block.rows.end());
    if (block.rows.empty()) column.data.rows.assign(events_, 1);
  }

  void select(std::vector<size_t>& kept) {
    kept.clear();
    std::span<const double> passes;
    if (plan_.filter) passes = run(*plan_.filter).values;
    for (size_t event = 0; event < events_; ++event)
      if (passes.empty() || passes[event] != 0) kept.push_back(event);
    selected_.passed += static_cast<int64_t>(kept.size());
    if (!split_) return;
    std::vector<const BlockColumn*> keys;
    size_t stored = 0;
    for (const ColumnSource& key : plan_.keys) keys.push_back(key.computed ? &computed_[key.place] : &keys_[stored++]);
    std::vector<size_t> places(keys.size(), 0);
    std::vector<double> values;
    std::vector<Part> parts(events_);
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
      parts[event] = part_of(place_of_key(values), split_->validation, split_->test);
    }
    std::erase_if(kept, [&](size_t event) { return parts[event] != split_->part; });
  }

  std::string name_;
  std::optional<SplitRule> split_;
  Plan plan_;
  std::vector<BlockColumn> computed_;
  std::vector<BlockColumn> keys_;  // of the file
  std::vector<RaggedColumn> read_;
  Selected selected_;
  int64_t first_ = 0;  // event of the block
  size_t events_ = 0;  // of the block
};

TransformedTable::TransformedTable(std::string name, const std::vector<WantedColumn>& columns,
                                   const Transform& transform, const OpenReader& open)
    : parts_(std::make_unique<Parts>(name, columns, transform, open)) {
  for (const WantedColumn& column : columns) codes_.emplace_back(name, column.name);
}

TransformedTable::~TransformedTable() = default;

int64_t TransformedTable::events() const {
  return parts_->plan().reader->events();
}

const std::vector<StoredColumn>& TransformedTable::columns() const {
  return parts_->plan().stored;
}

const Selected& TransformedTable::selected() const {
  return parts_->selected();
}

void TransformedTable::next(std::vector<RaggedColumn>& out) {
  const Plan& plan = parts_->plan();
  out.assign(plan.outputs.size(), {});
  std::vector<size_t> kept;
  while (parts_->load(kept) && kept.empty()) continue;
  if (kept.empty()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    const BlockColumn& column = parts_->column(plan.outputs[i]);
    std::vector<size_t> begins(1, 0);
    for (size_t event = 0; event < column.data.rows.size(); ++event)
      begins.push_back(begins.back() + column.values_of(event));
    for (const size_t event : kept) {
      out[i].rows.push_back(column.data.rows[event]);
      if (plan.stored[i].is_text) {
        const std::string text = parts_->text_of(plan.outputs[i], column.data.values[begins[event]]);
        out[i].values.push_back(codes_[i].code(text, events_out_ + static_cast<int64_t>(out[i].values.size())));
        continue;
      }
      const size_t first = out[i].values.size(), begin = begins[event], end = begins[event + 1];
      if (column.data.exact.empty())
        append(column.data.values, begin, end, out[i].values);
      else
        append(column.data.exact, begin, end, out[i].values);
      const auto bad = std::find_if_not(out[i].values.begin() + static_cast<int64_t>(first), out[i].values.end(),
                                        [](float value) { return std::isfinite(value); });
      if (bad == out[i].values.end()) continue;
      const size_t place = begin + static_cast<size_t>(bad - out[i].values.begin()) - first;
      const double full = column.data.exact.empty() ? double{column.data.values[place]} : column.data.exact[place];
      parts_->fail(
          event, fmt::format("{}column '{}' holds {}{}; select events for which it is finite, e.g. by "
                             "data.filter: isfinite({})",
                             plan.outputs[i].computed ? "computed " : "", column.name,
                             std::isnan(full) ? "NaN" : fmt::to_string(full),
                             std::isfinite(full) ? ", which is beyond float32" : "", expression::quoted(column.name)));
    }
  }
  events_out_ += static_cast<int64_t>(kept.size());
}

}  // namespace linac::data
