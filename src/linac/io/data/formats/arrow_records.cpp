#include "linac/io/data/formats/arrow_records.h"

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"

namespace linac::data {
namespace {

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

/// The same list around other values.
std::shared_ptr<arrow::DataType> list_around(const arrow::DataType& list,
                                             const std::shared_ptr<arrow::DataType>& values) {
  const auto field = list.field(0)->WithType(values);
  switch (list.id()) {
    case arrow::Type::LIST:
      return arrow::list(field);
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(field);
    default:
      return arrow::fixed_size_list(field, static_cast<const arrow::FixedSizeListType&>(list).list_size());
  }
}

bool has_twins(const arrow::FieldVector& fields) {
  std::set<std::string> names;
  return !std::ranges::all_of(fields, [&](const auto& field) { return names.insert(field->name()).second; });
}

void add_columns(const RecordColumn& column, std::vector<RecordColumn>& out) {
  const arrow::DataType& inner = inside_lists(*column.type);
  if (inner.id() != arrow::Type::STRUCT || has_twins(inner.fields())) return out.push_back(column);
  for (const auto& field : inner.fields()) {
    const std::string step[] = {field->name()};
    RecordColumn part = column;
    part.name += "." + step[0];
    part.path.push_back(step[0]);
    part.type = type_of_field(column.type, step);
    add_columns(part, out);
  }
}

}  // namespace

const arrow::DataType& inside_lists(const arrow::DataType& type) {
  return is_list(type) ? inside_lists(*type.field(0)->type()) : type;
}

std::shared_ptr<arrow::DataType> type_of_field(const std::shared_ptr<arrow::DataType>& type,
                                               std::span<const std::string> path) {
  if (path.empty()) return type;
  if (is_list(*type)) return list_around(*type, type_of_field(type->field(0)->type(), path));
  const auto field = static_cast<const arrow::StructType&>(*type).GetFieldByName(path.front());
  LINAC_CHECK(field != nullptr);
  return type_of_field(field->type(), path.subspan(1));
}

arrow::Result<std::shared_ptr<arrow::Array>> field_of(const std::shared_ptr<arrow::Array>& array,
                                                      std::span<const std::string> path) {
  if (path.empty()) return array;
  if (is_list(*array->type())) {
    ARROW_ASSIGN_OR_RAISE(const auto values, field_of(arrow::MakeArray(array->data()->child_data.at(0)), path));
    auto data = array->data()->Copy();
    data->type = list_around(*array->type(), values->type());
    data->child_data = {values->data()};
    return arrow::MakeArray(std::move(data));
  }
  if (array->type_id() != arrow::Type::STRUCT) return arrow::Status::Invalid("a record is none");
  const auto& records = static_cast<const arrow::StructArray&>(*array);
  const int place = records.struct_type()->GetFieldIndex(path.front());
  if (place < 0) return arrow::Status::Invalid("a record lacks its field ", path.front());
  ARROW_ASSIGN_OR_RAISE(const auto field, records.GetFlattenedField(place, arrow::system_memory_pool()));
  return field_of(field, path.subspan(1));
}

std::string RecordColumn::described() const {
  return name + " " + describe_type(*type);
}

std::vector<RecordColumn> columns_of(const RecordColumn& whole) {
  std::vector<RecordColumn> columns;
  add_columns(whole, columns);
  return columns;
}

TableContents contents_of(int64_t events, const std::vector<RecordColumn>& columns) {
  TableContents contents{.format = {}, .events = events, .columns = {}};
  for (const RecordColumn& column : columns) {
    contents.columns.push_back(column.described());
    contents.names.push_back(column.name);
    if (holds_texts(*column.type)) contents.of_texts.push_back(column.name);
  }
  return contents;
}

}  // namespace linac::data
