#include "linac/io/data/formats/arrow_lists.h"

#include <arrow/util/float16.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"

namespace linac::data {
namespace {

using arrow::Array;
using arrow::Type;

bool is_list(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST || type.id() == Type::FIXED_SIZE_LIST;
}

bool is_leaf(const arrow::DataType& type) {
  return type.id() == Type::BOOL || arrow::is_integer(type.id()) || arrow::is_floating(type.id());
}

template <class ArrayOf, class T>
void append_as(const Array& array, std::vector<T>& out) {
  const auto& numbers = static_cast<const ArrayOf&>(array);
  const auto* values = numbers.raw_values();
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*values)>, T>) {
    out.insert(out.end(), values, values + numbers.length());
    return;
  }
  const size_t old = out.size();
  out.resize(old + static_cast<size_t>(numbers.length()));
  std::transform(values, values + numbers.length(), out.begin() + static_cast<int64_t>(old),
                 [](auto value) { return static_cast<T>(value); });
}

template <class T>
void append_rests_as(const Array& array, std::vector<uint64_t>& rests) {
  const auto* const values = static_cast<const arrow::NumericArray<T>&>(array).raw_values();
  using Wide = std::conditional_t<std::is_same_v<T, arrow::DoubleType>, double,
                                  std::conditional_t<std::is_same_v<T, arrow::UInt64Type>, uint64_t, int64_t>>;
  bool any = false;
  for (int64_t i = 0; i < array.length(); ++i) {
    rests.push_back(rest_beyond_float32(static_cast<Wide>(values[i])));
    any |= rests.back() != 0;
  }
  if (!any) rests.clear();
}

/// Of numbers that float32 may not hold.
void append_rests(const Array& array, std::vector<uint64_t>& rests) {
  switch (array.type_id()) {
    case Type::INT32:
      return append_rests_as<arrow::Int32Type>(array, rests);
    case Type::UINT32:
      return append_rests_as<arrow::UInt32Type>(array, rests);
    case Type::INT64:
      return append_rests_as<arrow::Int64Type>(array, rests);
    case Type::UINT64:
      return append_rests_as<arrow::UInt64Type>(array, rests);
    case Type::DOUBLE:
      return append_rests_as<arrow::DoubleType>(array, rests);
    default:
      return;
  }
}

/// From a column down to its numbers, one level of lists at a time.
class Descent {
 public:
  Descent(const std::shared_ptr<Array>& array, const std::string& name, const WantedColumn& wanted, int64_t first_event)
      : level_(array), name_(name), wanted_(wanted), first_event_(first_event) {
    starts_.resize(static_cast<size_t>(array->length()) + 1);
    std::iota(starts_.begin(), starts_.end(), 0);
  }

  RaggedColumn run() {
    const size_t events = starts_.size() - 1;
    RaggedColumn out;
    if (!wanted_.any_form) refuse_null();
    int depth = 0;
    for (; is_list(*level_->type()); ++depth) {
      descend();
      if (depth == 0) lengths_of_events(out.rows);
      if (!wanted_.any_form) refuse_null();
    }
    if (depth == 0) out.rows.assign(events, 1);
    if (wanted_.any_form) {
      lengths_of_events(out.sizes);
    } else if (wanted_.as_stored) {
      out.row_size = 1;
      for (const int64_t extent : extents_) out.row_size *= static_cast<uint32_t>(extent);
      if (depth > 1 && extents_.empty()) out.row_size = 0;
    } else if (depth == 1) {
      for (size_t event = 0; event < events; ++event)
        out.rows[event] = rows_of_list(name_, wanted_, out.rows[event], first_event_ + static_cast<int64_t>(event));
    }
    if (wanted_.exact) {
      append_numbers(*level_, out.exact);
      refuse_rounded(out.exact);
    } else {
      append_numbers(*level_, out.values);
    }
    if (wanted_.any_form) {
      append_rests(*level_, out.rests);
      mark_nulls(out);
    }
    return out;
  }

 private:
  void descend() {
    switch (level_->type_id()) {
      case Type::LIST:
        return descend_as<arrow::ListArray>();
      case Type::LARGE_LIST:
        return descend_as<arrow::LargeListArray>();
      default:
        return descend_as<arrow::FixedSizeListArray>();
    }
  }

  template <class ListArray>
  void descend_as() {
    const std::shared_ptr<Array> kept = level_;
    const auto& lists = static_cast<const ListArray&>(*kept);
    const int64_t first = lists.value_offset(0);
    if (inside_rows_ && !wanted_.any_form) {
      for (int64_t i = 0; i < lists.length(); ++i) {
        const int64_t length = lists.value_offset(i + 1) - lists.value_offset(i);
        if (i == 0) extents_.push_back(length);
        // Only the innermost lists complete the shape of a row.
        const bool fits = i > 0 || is_list(*lists.value_type()) || wanted_.as_stored || rows_fit(wanted_, extents_);
        if (!fits || length != extents_.back()) refuse_row(i, length);
      }
    }
    for (int64_t& start : starts_) start = lists.value_offset(start) - first;
    level_ = lists.values()->Slice(first, lists.value_offset(lists.length()) - first);
    inside_rows_ = true;
  }

  void lengths_of_events(std::vector<uint32_t>& rows) const {
    for (size_t event = 0; event + 1 < starts_.size(); ++event)
      rows.push_back(static_cast<uint32_t>(starts_[event + 1] - starts_[event]));
  }

  void mark_nulls(RaggedColumn& out) const {
    out.nulls = level_->null_count();
    for (int64_t i = 0; out.nulls > 0 && i < level_->length(); ++i)
      if (level_->IsNull(i)) {
        out.values[static_cast<size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
        if (!out.rests.empty()) out.rests[static_cast<size_t>(i)] = 0;
      }
  }

  int64_t event_of(int64_t element) const {
    return first_event_ + (std::upper_bound(starts_.begin(), starts_.end(), element) - starts_.begin()) - 1;
  }

  void refuse_null() const {
    if (level_->null_count() == 0) return;
    int64_t i = 0;
    while (!level_->IsNull(i)) ++i;
    throw data_error(fmt::format("[parquet] {}: event {}: column '{}' holds a null; remove the event or write a number",
                                 name_, event_of(i), wanted_.name));
  }

  void refuse_rounded(const std::vector<double>& values) const {
    if (level_->type_id() != Type::INT64 && level_->type_id() != Type::UINT64) return;
    const auto bad =
        std::ranges::find_if(values, [](double value) { return std::abs(value) >= WantedColumn::kExactMax; });
    if (bad != values.end()) refuse_integer(name_, wanted_.name, event_of(bad - values.begin()));
  }

  [[noreturn]] void refuse_row(int64_t element, int64_t length) const {
    refuse_column(name_, wanted_, fmt::format("lists with a row of {} values", length), event_of(element));
  }

  std::shared_ptr<Array> level_;
  const std::string& name_;
  const WantedColumn& wanted_;
  const int64_t first_event_;
  std::vector<int64_t> starts_;  // where each event begins in level_
  bool inside_rows_ = false;
  std::vector<int64_t> extents_;
};

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return true;
    default:
      return false;
  }
}

std::string_view text_at(const Array& array, int64_t i) {
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(i);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(i);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(i);
    default:
      LINAC_CHECK(array.type_id() == Type::FIXED_SIZE_BINARY);
      return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(i);
  }
}

/// Where the text of element i lies among those of all elements. Data error unless it is a list of one.
template <class ListArray>
int64_t place_in(const ListArray& lists, int64_t i, int64_t event, const TextCodes& codes) {
  if (lists.IsNull(i)) codes.refuse(event, "holds a null; remove the event or write the name of its class");
  const int64_t begin = lists.value_offset(i), texts = lists.value_offset(i + 1) - begin;
  if (texts != 1)
    codes.refuse(event, fmt::format("holds a list of {}; a target is the name of one class", plural(texts, "text")));
  LINAC_CHECK(begin >= 0 && begin < lists.values()->length());
  return begin;
}

int64_t place_of_text(const Array& array, int64_t i, int64_t event, const TextCodes& codes) {
  switch (array.type_id()) {
    case Type::LIST:
      return place_in(static_cast<const arrow::ListArray&>(array), i, event, codes);
    case Type::LARGE_LIST:
      return place_in(static_cast<const arrow::LargeListArray&>(array), i, event, codes);
    case Type::FIXED_SIZE_LIST:
      return place_in(static_cast<const arrow::FixedSizeListArray&>(array), i, event, codes);
    default:
      return i;
  }
}

const Array& texts_in(const Array& array) {
  switch (array.type_id()) {
    case Type::LIST:
      return *static_cast<const arrow::ListArray&>(array).values();
    case Type::LARGE_LIST:
      return *static_cast<const arrow::LargeListArray&>(array).values();
    case Type::FIXED_SIZE_LIST:
      return *static_cast<const arrow::FixedSizeListArray&>(array).values();
    default:
      return array;
  }
}

}  // namespace

template <class T>
void append_numbers(const Array& array, std::vector<T>& out) {
  switch (array.type_id()) {
    case Type::FLOAT:
      return append_as<arrow::FloatArray>(array, out);
    case Type::DOUBLE:
      return append_as<arrow::DoubleArray>(array, out);
    case Type::INT8:
      return append_as<arrow::Int8Array>(array, out);
    case Type::INT16:
      return append_as<arrow::Int16Array>(array, out);
    case Type::INT32:
      return append_as<arrow::Int32Array>(array, out);
    case Type::INT64:
      return append_as<arrow::Int64Array>(array, out);
    case Type::UINT8:
      return append_as<arrow::UInt8Array>(array, out);
    case Type::UINT16:
      return append_as<arrow::UInt16Array>(array, out);
    case Type::UINT32:
      return append_as<arrow::UInt32Array>(array, out);
    case Type::UINT64:
      return append_as<arrow::UInt64Array>(array, out);
    case Type::HALF_FLOAT:
      for (int64_t i = 0; i < array.length(); ++i) {
        const auto& halves = static_cast<const arrow::HalfFloatArray&>(array);
        out.push_back(arrow::util::Float16::FromBits(halves.raw_values()[i]).ToFloat());
      }
      return;
    case Type::BOOL:
      for (int64_t i = 0; i < array.length(); ++i)
        out.push_back(static_cast<const arrow::BooleanArray&>(array).Value(i) ? 1 : 0);
      return;
    default:
      LINAC_CHECK(is_leaf(*array.type()));
  }
}

template void append_numbers(const Array&, std::vector<float>&);
template void append_numbers(const Array&, std::vector<double>&);
template void append_numbers(const Array&, std::vector<int64_t>&);

std::optional<std::string_view> text_of(const Array& array, int64_t i) {
  if (array.IsNull(i)) return std::nullopt;
  if (array.type_id() != Type::DICTIONARY) return text_at(array, i);
  const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
  const Array& dictionary = *coded.dictionary();
  const int64_t place = coded.GetValueIndex(i);
  if (place < 0 || place >= dictionary.length() || dictionary.IsNull(place)) return std::nullopt;
  return text_at(dictionary, place);
}

std::string describe_type(const arrow::DataType& type) {
  if (!is_list(type)) return type.ToString();
  const std::string inner = describe_type(*type.field(0)->type());
  if (type.id() != Type::FIXED_SIZE_LIST) return fmt::format("list<{}>", inner);
  return fmt::format("list<{}>[{}]", inner, static_cast<const arrow::FixedSizeListType&>(type).list_size());
}

bool holds_numbers(const arrow::DataType& type) {
  return is_list(type) ? holds_numbers(*type.field(0)->type()) : is_leaf(type);
}

int list_depth(const arrow::DataType& type) {
  return is_list(type) ? 1 + list_depth(*type.field(0)->type()) : 0;
}

const arrow::DataType& leaf_of(const arrow::DataType& type) {
  return is_list(type) ? leaf_of(*type.field(0)->type()) : type;
}

bool holds_booleans(const arrow::DataType& type) {
  return leaf_of(type).id() == Type::BOOL;
}

bool holds_texts(const arrow::DataType& type) {
  if (is_list(type)) return !is_list(*type.field(0)->type()) && holds_texts(*type.field(0)->type());
  if (type.id() != Type::DICTIONARY) return is_text(type);
  return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
}

RaggedColumn codes_of(const Array& array, int64_t first_event, TextCodes& codes) {
  RaggedColumn out;
  out.rows.assign(static_cast<size_t>(array.length()), 1);
  const Array& texts = texts_in(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    const auto text = text_of(texts, place_of_text(array, i, first_event + i, codes));
    if (!text) codes.refuse(first_event + i, "holds a null; remove the event or write the name of its class");
    out.values.push_back(codes.code(*text, first_event + i));
  }
  return out;
}

RaggedColumn rows_of(const std::shared_ptr<Array>& array, const std::string& name, const WantedColumn& wanted,
                     int64_t first_event) {
  return Descent(array, name, wanted, first_event).run();
}

}  // namespace linac::data
