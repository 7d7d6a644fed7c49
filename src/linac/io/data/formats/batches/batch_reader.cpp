#include "linac/io/data/formats/batches/batch_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

void need(const arrow::Status& status) {
  if (!status.ok()) throw environment_error(fmt::format("[data] Arrow: {}", status.message()));
}

template <class T>
T value(arrow::Result<T> result) {
  need(result.status());
  return std::move(result).ValueUnsafe();
}

std::shared_ptr<arrow::Buffer> copied(std::span<const std::byte> bytes) {
  std::shared_ptr<arrow::Buffer> buffer =
      value(arrow::AllocateBuffer(static_cast<int64_t>(bytes.size()), arrow::system_memory_pool()));
  std::ranges::copy(bytes, reinterpret_cast<std::byte*>(buffer->mutable_data()));
  return buffer;
}

}  // namespace

std::unique_ptr<BatchReader> open_batches(const SourcePtr& source, const BatchColumns& columns, const EventRange& range,
                                          const RecordMarks* marks) {
  return format_of(*source).batches(source, columns, range, marks);
}

void refuse_form(const std::string& name, const std::string& column, const std::string& why) {
  throw data_error(fmt::format(
      "[data] {}: column '{}' is not converted ({}); leave it out (--without), or name those that are (--columns)",
      name, column, why));
}

std::shared_ptr<arrow::Array> numbers_of(const std::shared_ptr<arrow::DataType>& type,
                                         std::span<const std::byte> bytes) {
  return numbers_of(type, copied(bytes));
}

std::shared_ptr<arrow::Array> numbers_of(const std::shared_ptr<arrow::DataType>& type,
                                         std::shared_ptr<arrow::Buffer> buffer) {
  if (type->id() == arrow::Type::BOOL) {
    arrow::BooleanBuilder builder(arrow::system_memory_pool());
    need(builder.AppendValues(buffer->data(), buffer->size()));
    return value(builder.Finish());
  }
  const int64_t count = buffer->size() / type->byte_width();
  return arrow::MakeArray(arrow::ArrayData::Make(type, count, {nullptr, std::move(buffer)}, 0));
}

std::shared_ptr<arrow::Array> texts_of(const std::vector<std::string>& texts, bool utf8) {
  if (utf8) {
    arrow::StringBuilder builder(arrow::system_memory_pool());
    need(builder.AppendValues(texts));
    return value(builder.Finish());
  }
  arrow::BinaryBuilder builder(arrow::system_memory_pool());
  for (const std::string& text : texts) need(builder.Append(text));
  return value(builder.Finish());
}

std::shared_ptr<arrow::Array> lists_of(std::span<const uint32_t> lengths, const std::shared_ptr<arrow::Array>& values) {
  std::vector<int32_t> offsets{0};
  for (const uint32_t length : lengths) offsets.push_back(offsets.back() + static_cast<int32_t>(length));
  LINAC_CHECK(offsets.back() == values->length());
  const auto type = arrow::list(values->type());
  return std::make_shared<arrow::ListArray>(type, static_cast<int64_t>(lengths.size()),
                                            copied(std::as_bytes(std::span(offsets))), values);
}

std::shared_ptr<arrow::Array> fixed_of(std::span<const int64_t> extents, std::shared_ptr<arrow::Array> values) {
  for (size_t axis = extents.size(); axis-- > 0;)
    values = value(arrow::FixedSizeListArray::FromArrays(values, static_cast<int32_t>(extents[axis])));
  return values;
}

std::shared_ptr<arrow::DataType> fixed_type(std::span<const int64_t> extents, std::shared_ptr<arrow::DataType> type) {
  for (size_t axis = extents.size(); axis-- > 0;)
    type = arrow::fixed_size_list(std::move(type), static_cast<int32_t>(extents[axis]));
  return type;
}

}  // namespace linac::data
