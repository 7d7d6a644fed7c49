#include "linac/train/trained/stored_form.h"

#include <functional>
#include <numeric>
#include <span>

#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/transform/table.h"
#include "linac/io/storage/storage.h"

namespace linac::trained {

bool has_fewer_axes(const std::string& column, int axes, const std::vector<std::string>& urls,
                    const data::Transform& transform) {
  const std::vector<std::string> all = storage::expand_all(urls);
  if (all.empty()) return false;
  const auto source = data::readable_source(storage::Source::open(all.front()));
  const auto open = [&](const std::vector<data::WantedColumn>& asked) {
    return data::open_table_reader(source, asked);
  };
  const bool computed = transform.define.contains(column);
  data::WantedColumn probe{.name = column, .shape = {}, .texts = true, .any_form = true};
  if (computed) probe = {.name = column, .shape = {}, .joined = true};
  const data::StoredColumn stored =
      computed ? data::TransformedTable(all.front(), {probe}, data::needed_of(transform, std::span(&probe, 1)), open)
                     .columns()
                     .front()
               : open({probe})->columns().front();
  const int there = stored.axes >= 0 ? stored.axes : stored.is_number ? 0 : 1;
  if (there < axes) return true;
  const auto event_shape = computed ? nullptr : data::format_of(*source).event_shape;
  if (there != 1 || event_shape == nullptr) return false;
  const std::vector<int64_t> shape = event_shape(source, column);
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()) == 1;
}

}  // namespace linac::trained
