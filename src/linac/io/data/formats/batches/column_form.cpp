#include "linac/io/data/formats/batches/column_form.h"

#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/hdf5_lists.h"

namespace linac::data {
namespace {

using arrow::Type;

constexpr size_t kHdf5AxesMax = 31;  // beside the events; H5S_MAX_RANK

bool is_variable(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST;
}

std::optional<LeafKind> kind_of(const arrow::DataType& type) {
  if (type.id() == Type::BOOL || arrow::is_integer(type.id())) return LeafKind::kIntegers;
  if (arrow::is_floating(type.id())) return LeafKind::kFloats;
  if (!holds_texts(type)) return std::nullopt;
  const bool text = type.id() == Type::STRING || type.id() == Type::LARGE_STRING || type.id() == Type::STRING_VIEW;
  return text ? LeafKind::kTexts : LeafKind::kBytes;
}

/// Whether a data set of HDF5 can have it, in groups where it has slashes.
bool is_path(const std::string& name) {
  if (name == kEventRows || name.starts_with(std::string(kEventRows) + "/") || name.find('\0') != std::string::npos)
    return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part.empty() || part == ".") return false;
    begin = end + 1;
  }
  return true;
}

/// Why it has no form; empty: it has one.
std::string refusal(WrittenFormat format, const arrow::Field& field) {
  const auto form = form_of(field.type());
  if (!arrow::util::ValidateUTF8(field.name())) return "its name is not UTF-8";
  if (!form) return fmt::format("{} has none", describe_type(*field.type()));
  const bool is_array = form->is_list || !form->extents.empty();
  if (format == WrittenFormat::kHdf5) {
    if (!is_path(field.name()))
      return "its name cannot be that of a data set; a job's data.define gives it another one";
    if (form->extents.size() > kHdf5AxesMax) return "it has too many axes";
    if (is_array && (form->kind == LeafKind::kTexts || form->kind == LeafKind::kBytes)) return "lists of texts";
    return "";
  }
  if (form->leaf->id() == Type::DOUBLE)
    return fmt::format("float64, which it does not know: --float32 {} rounds it", field.name());
  return "";
}

}  // namespace

void need_forms(WrittenFormat format, const arrow::Schema& schema, const std::string& from) {
  if (format == WrittenFormat::kParquet) return;
  for (const auto& field : schema.fields()) {
    const std::string why = refusal(format, *field);
    if (why.empty()) continue;
    throw data_error(
        fmt::format("{}: column '{}' has no form in {} ({}); leave it out (--without {}), or write "
                    "Parquet",
                    from, field->name(), words_of(format), why, field->name()));
  }
}

std::optional<ColumnForm> form_of(const std::shared_ptr<arrow::DataType>& type) {
  ColumnForm form{.leaf = type};
  for (bool outermost = true;; outermost = false) {
    if (is_variable(*form.leaf)) {
      if (!outermost && !form.is_list) return std::nullopt;
      form.is_list = true;
      if (!outermost) form.extents.push_back(0);
    } else if (form.leaf->id() == Type::FIXED_SIZE_LIST) {
      form.extents.push_back(static_cast<const arrow::FixedSizeListType&>(*form.leaf).list_size());
      if (form.extents.back() == 0) return std::nullopt;
    } else {
      break;
    }
    form.leaf = form.leaf->field(0)->type();
  }
  if (form.leaf->id() == Type::DICTIONARY)
    form.leaf = static_cast<const arrow::DictionaryType&>(*form.leaf).value_type();
  const auto kind = kind_of(*form.leaf);
  if (!kind) return std::nullopt;
  form.kind = *kind;
  return form;
}

FlatColumn::FlatColumn(std::string name, const std::shared_ptr<arrow::DataType>& type, std::string format)
    : name_(std::move(name)), format_(std::move(format)), form_(form_of(type).value()) {}

bool FlatColumn::has_extents() const {
  return std::ranges::find(form_.extents, 0) == form_.extents.end();
}

int64_t FlatColumn::row_values() const {
  return std::accumulate(form_.extents.begin(), form_.extents.end(), int64_t{1}, std::multiplies<>());
}

void FlatColumn::take(const std::shared_ptr<arrow::Array>& array, int64_t first_event, const std::string& from) {
  values_ = array;
  first_event_ = first_event;
  from_ = from;
  starts_.resize(static_cast<size_t>(array->length()) + 1);
  std::iota(starts_.begin(), starts_.end(), 0);
  refuse_null();
  for (level_ = 0; values_->type_id() == Type::FIXED_SIZE_LIST || is_variable(*values_->type()); ++level_) descend();
}

void FlatColumn::descend() {
  switch (values_->type_id()) {
    case Type::LIST:
      return descend_as<arrow::ListArray>();
    case Type::LARGE_LIST:
      return descend_as<arrow::LargeListArray>();
    default:
      return descend_as<arrow::FixedSizeListArray>();
  }
}

template <class ListArray>
void FlatColumn::descend_as() {
  const std::shared_ptr<arrow::Array> kept = values_;
  const auto& lists = static_cast<const ListArray&>(*kept);
  const int64_t first = lists.value_offset(0);
  if (form_.is_list && level_ > 0) {
    int64_t& extent = form_.extents.at(level_ - 1);
    for (int64_t i = 0; i < lists.length(); ++i) {
      const int64_t length = lists.value_offset(i + 1) - lists.value_offset(i);
      if (extent == 0) extent = length;
      if (length != extent || length == 0)
        refuse(i, fmt::format("has a row of {} values, and others of {}", length, extent));
    }
  }
  for (int64_t& start : starts_) start = lists.value_offset(start) - first;
  values_ = lists.values()->Slice(first, lists.value_offset(lists.length()) - first);
  refuse_null();
}

void FlatColumn::refuse_null() const {
  if (values_->null_count() == 0) return;
  int64_t i = 0;
  while (!values_->IsNull(i)) ++i;
  refuse(i, "holds a null");
}

void FlatColumn::refuse(int64_t i, const std::string& what) const {
  const auto event = std::ranges::upper_bound(starts_, i) - starts_.begin() - 1;
  throw data_error(
      fmt::format("{}: column '{}' {} in event {} of the file that is written, which has no form in {}; leave the "
                  "column out (--columns names the others), or write Parquet",
                  from_, name_, what, first_event_ + event, format_));
}

std::string_view FlatColumn::text(int64_t i) const {
  const auto text = text_of(*values_, i);
  if (!text) refuse(i, "holds a null");
  return *text;
}

}  // namespace linac::data
