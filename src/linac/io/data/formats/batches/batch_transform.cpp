#include "linac/io/data/formats/batches/batch_transform.h"

#include <arrow/compute/api.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/expression/expression.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/batches/batch_reader.h"

namespace linac::data {
namespace {

std::shared_ptr<arrow::DataType> computed_type(const expression::Type& type) {
  auto value = type.boolean ? arrow::boolean() : arrow::float64();
  return type.axes == expression::Axes::kNumber ? value : arrow::list(value);
}

std::shared_ptr<arrow::Array> computed_array(const BlockColumn& column) {
  std::shared_ptr<arrow::Array> values;
  if (column.type.boolean) {
    std::vector<std::byte> bytes;
    for (const double value : column.data.exact) bytes.push_back(std::byte{value != 0});
    values = numbers_of(arrow::boolean(), bytes);
  } else {
    values = numbers_of(arrow::float64(), std::as_bytes(std::span(column.data.exact)));
  }
  return column.type.axes == expression::Axes::kNumber ? values : lists_of(column.data.rows, values);
}

template <class T>
T need(arrow::Result<T> result) {
  if (!result.ok()) throw environment_error(fmt::format("[data] Arrow: {}", result.status().message()));
  return std::move(result).ValueUnsafe();
}

template <class ListArray>
std::shared_ptr<arrow::Array> values_of_lists(const arrow::Array& array) {
  const auto& lists = static_cast<const ListArray&>(array);
  const int64_t begin = lists.value_offset(0);
  return lists.values()->Slice(begin, lists.value_offset(lists.length()) - begin);
}

std::shared_ptr<arrow::Array> values_in(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::LIST:
      return values_of_lists<arrow::ListArray>(array);
    case arrow::Type::LARGE_LIST:
      return values_of_lists<arrow::LargeListArray>(array);
    default:
      LINAC_CHECK(array.type_id() == arrow::Type::FIXED_SIZE_LIST);
      return values_of_lists<arrow::FixedSizeListArray>(array);
  }
}

template <class T>
std::shared_ptr<arrow::Array> taken(const std::shared_ptr<arrow::Array>& from, const std::vector<T>& places,
                                    const std::shared_ptr<arrow::DataType>& type) {
  return need(arrow::compute::Take(*from, *numbers_of(type, std::as_bytes(std::span(places))),
                                   arrow::compute::TakeOptions::NoBoundsCheck()));
}

/// The same type around float32; null where its values are not float64.
std::shared_ptr<arrow::DataType> in_float32(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::DOUBLE) return arrow::float32();
  if (list_depth(*type) == 0) return nullptr;
  const auto value = in_float32(type->field(0)->type());
  if (!value) return nullptr;
  const auto field = type->field(0)->WithType(value);
  switch (type->id()) {
    case arrow::Type::LIST:
      return arrow::list(field);
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(field);
    default:
      return arrow::fixed_size_list(field, static_cast<const arrow::FixedSizeListType&>(*type).list_size());
  }
}

/// Their zeros at the end are padding, which float32 might take small values for; of plain lists no value is looked at.
bool are_rows(const arrow::Schema& schema, const std::string& column) {
  const auto field = schema.GetFieldByName(column);
  return field && list_depth(*field->type()) > 1;
}

std::set<std::string> named_in(const Transform& transform) {
  std::set<std::string> names;
  const auto add = [&](const std::string& formula) {
    if (formula.empty()) return;
    for (const std::string& name : expression::parse(formula, "data").columns()) names.insert(name);
  };
  // A formula that names itself means the file's column.
  std::set<std::string> stored;
  for (const ListRule& rule : transform.lists) {
    for (const std::string& formula : {rule.filter, rule.sort}) add(formula);
    names.insert(rule.columns.begin(), rule.columns.end());
  }
  stored = names;
  for (const auto& [name, formula] : transform.define) {
    const auto columns = expression::parse(formula, "data").columns();
    if (std::ranges::find(columns, name) != columns.end()) stored.insert(name);
    names.insert(columns.begin(), columns.end());
  }
  add(transform.filter);
  if (transform.split) names.insert(transform.split->key.begin(), transform.split->key.end());
  for (const auto& [name, formula] : transform.define)
    if (!stored.contains(name)) names.erase(name);
  return names;
}

}  // namespace

std::vector<std::string> columns_to_read(const Transform& transform, const std::vector<std::string>& written) {
  if (written.empty()) return {};
  std::vector<WantedColumn> wanted;
  for (const std::string& name : written) wanted.push_back({.name = name, .shape = {}});
  const Transform needed = needed_of(transform, wanted);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const std::string& name : written)
    if (!needed.define.contains(name)) add(name);
  for (const std::string& name : named_in(needed)) add(name);
  return names;
}

BatchTransform::BatchTransform(const std::string& name, const std::shared_ptr<arrow::Schema>& schema,
                               const Transform& transform, const std::vector<std::string>& written,
                               const std::vector<std::string>& rounded, std::vector<Part> parts, int64_t first)
    : name_(name), parts_(std::move(parts)) {
  std::vector<std::string> names = written;
  if (names.empty()) {
    names = schema->field_names();
    for (const auto& [defined, formula] : transform.define)
      if (std::ranges::find(names, defined) == names.end()) names.push_back(defined);
  }
  std::vector<WantedColumn> all;
  for (const std::string& one : names) all.push_back({.name = one, .shape = {}});
  transform_ = needed_of(transform, all);
  hand_.first = first;
  if (!transform_.empty()) {
    // Beside what formulas name: lists of rules, and what is computed.
    std::vector<WantedColumn> wanted;
    for (const std::string& one : names) {
      const bool computed = transform_.define.contains(one);
      const bool in_rule = std::ranges::any_of(transform_.lists, [&](const ListRule& rule) {
        return std::ranges::find(rule.columns, one) != rule.columns.end();
      });
      if (computed)
        wanted.push_back({.name = one, .shape = {}, .joined = true});
      else if (in_rule)
        wanted.push_back({.name = one, .shape = {}, .exact = are_rows(*schema, one), .as_stored = true});
    }
    blocks_ = std::make_unique<TransformedBlocks>(
        name_, wanted, transform_,
        [&](const std::vector<WantedColumn>& columns) { return open_batch_table(name_, schema, columns, &hand_); },
        first, true);
    size_t next = 0;
    for (const WantedColumn& one : wanted) {
      Column column{.name = one.name};
      column.source = blocks_->plan().outputs.at(next++);
      column.rearranged = !column.source.computed;
      columns_.push_back(column);
    }
  }
  std::vector<Column> special = std::move(columns_);
  columns_.clear();
  arrow::FieldVector fields;
  for (const std::string& one : names) {
    const auto found = std::ranges::find(special, one, &Column::name);
    Column column = found == special.end() ? Column{.name = one} : *found;
    column.place = schema->GetFieldIndex(one);
    if (column.source.computed) {
      fields.push_back(
          arrow::field(one, computed_type(blocks_->plan().computed[column.source.place].formula.program.type())));
    } else if (column.place < 0) {
      refuse_missing(name_, one, schema->field_names());
    } else if (column.rearranged) {
      const arrow::DataType& type = *schema->field(column.place)->type();
      fields.push_back(arrow::field(one, arrow::list(type.field(0)->type())));
    } else {
      fields.push_back(schema->field(column.place));
    }
    columns_.push_back(column);
  }
  schema_ = arrow::schema(fields);
  round(rounded);
}

void BatchTransform::round(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const int place = schema_->GetFieldIndex(name);
    if (place < 0) refuse_missing(name_, name, schema_->field_names());
    const auto& field = schema_->field(place);
    Column& column = columns_[static_cast<size_t>(place)];
    column.rounded = in_float32(field->type());
    if (!column.rounded)
      throw data_error(
          fmt::format("[data] {}: column '{}' is {}, and only float64 is rounded; take it out of --float32", name_,
                      name, describe_type(*field->type())));
    schema_ = need(schema_->SetField(place, field->WithType(column.rounded)));
  }
}

std::shared_ptr<arrow::Array> BatchTransform::column_of(const Column& column, const arrow::RecordBatch& batch) const {
  if (column.source.computed) return computed_array(blocks_->column(column.source));
  const auto stored = batch.column(column.place);
  if (!column.rearranged) return stored;
  const BlockColumn& lists = blocks_->column(column.source);
  const auto values = taken(values_in(*stored), lists.origin, arrow::uint32());
  return lists_of(lists.data.rows, values);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> BatchTransform::run(const std::shared_ptr<arrow::RecordBatch>& batch) {
  const bool folds = parts_.empty() && transform_.split && transform_.split->deals_folds();
  const size_t outputs = folds ? static_cast<size_t>(transform_.split->folds) : std::max<size_t>(1, parts_.size());
  if (blocks_) {
    hand_.batch = batch;
    LINAC_CHECK(batch->num_rows() > 0);
    blocks_->load();
    hand_.first += batch->num_rows();
  }
  arrow::ArrayVector arrays;
  for (const Column& column : columns_) {
    arrays.push_back(column_of(column, *batch));
    if (column.rounded) arrays.back() = need(arrow::compute::Cast(*arrays.back(), column.rounded));
  }
  const bool all = !blocks_ || (blocks_->passed().size() == static_cast<size_t>(batch->num_rows()) && parts_.empty());
  if (all && !folds) return {arrow::RecordBatch::Make(schema_, batch->num_rows(), arrays)};
  std::vector<std::vector<int64_t>> kept(outputs);
  for (const size_t event : blocks_->passed()) {
    size_t output = 0;
    if (folds)
      output = static_cast<size_t>(blocks_->folds()[event]) - 1;  // of test, which is none, beyond all
    else if (!parts_.empty())
      output = static_cast<size_t>(std::ranges::find(parts_, blocks_->parts()[event]) - parts_.begin());
    if (output < outputs) kept[output].push_back(static_cast<int64_t>(event));
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  for (const auto& places : kept) {
    arrow::ArrayVector columns;
    for (const auto& array : arrays) columns.push_back(taken(array, places, arrow::int64()));
    out.push_back(arrow::RecordBatch::Make(schema_, static_cast<int64_t>(places.size()), columns));
  }
  return out;
}

}  // namespace linac::data
