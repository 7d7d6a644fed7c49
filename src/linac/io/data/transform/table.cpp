#include "linac/io/data/transform/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/io/data/transform/blocks.h"

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

class TransformedTable::Parts : public TransformedBlocks {
 public:
  Parts(const std::string& name, const std::vector<WantedColumn>& columns, const Transform& transform,
        const OpenReader& open)
      : TransformedBlocks(name, columns, transform, open), split_(transform.split) {}

  /// The next block, and which events of it are handed out; false after the last.
  bool load(std::vector<size_t>& kept) {
    if (!TransformedBlocks::load()) return false;
    kept = passed();
    if (split_) std::erase_if(kept, [&](size_t event) { return parts()[event] != split_->part; });
    return true;
  }

 private:
  const std::optional<SplitRule> split_;
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
