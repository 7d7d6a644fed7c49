#pragma once
// JSON that others wrote, read field by field: whatever is not as expected is a user error that names the field. A
// Field refers to the JSON it was made of. For the sources of this folder.

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::pt2 {

class Field {
 public:
  Field(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  [[noreturn]] void fail(const std::string& why) const {
    throw user_error(fmt::format("[pt2] {}: {}", path_.empty() ? "the program" : path_, why));
  }

  bool is_null() const { return value_->is_null(); }
  bool has(const char* key) const {
    const auto found = value_->find(key);
    return value_->is_object() && found != value_->end() && !found->is_null();
  }
  Field at(const char* key) const {
    need(value_->is_object(), "an object");
    const auto found = value_->find(key);
    if (found == value_->end()) fail(fmt::format("has no '{}'", key));
    return {*found, path_.empty() ? key : path_ + "." + key};
  }
  /// The elements of a list of at most `max`.
  std::vector<Field> list(size_t max) const {
    need(value_->is_array(), "a list");
    if (value_->size() > max) fail(fmt::format("has {} elements (limit {})", value_->size(), max));
    std::vector<Field> elements;
    elements.reserve(value_->size());
    for (size_t i = 0; i < value_->size(); ++i) elements.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
    return elements;
  }
  /// Keys and values of an object of at most `max`.
  std::vector<std::pair<std::string, Field>> items(size_t max) const {
    need(value_->is_object(), "an object");
    if (value_->size() > max) fail(fmt::format("has {} entries (limit {})", value_->size(), max));
    std::vector<std::pair<std::string, Field>> all;
    for (const auto& [key, value] : value_->items()) all.emplace_back(key, Field(value, path_ + "." + key));
    return all;
  }
  /// Of a union, {"as_int": 5}: which of its kinds it is, and the value.
  std::pair<std::string, Field> choice() const {
    need(value_->is_object() && value_->size() == 1, "an object with one entry");
    const auto entry = value_->begin();
    return {entry.key(), Field(entry.value(), path_ + "." + entry.key())};
  }

  std::string text() const {
    need(value_->is_string(), "a text");
    return value_->get<std::string>();
  }
  bool truth() const {
    need(value_->is_boolean(), "true or false");
    return value_->get<bool>();
  }
  int64_t integer() const {
    need(value_->is_number_integer() &&
             !(value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)),
         "an integer of 64 bits");
    return value_->get<int64_t>();
  }
  /// PyTorch writes infinities as text.
  double number() const {
    if (*value_ == "Infinity") return std::numeric_limits<double>::infinity();
    if (*value_ == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (*value_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
    need(value_->is_number(), "a number");
    return value_->get<double>();
  }

 private:
  void need(bool holds, const char* what) const {
    if (!holds) fail(fmt::format("is {} and not {}", value_->type_name(), what));
  }

  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace linac::pt2
