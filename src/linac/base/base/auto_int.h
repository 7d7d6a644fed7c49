#pragma once
// A setting that is a number, or "auto": found by the program itself.

#include <yaml-cpp/yaml.h>

#include <optional>

namespace linac {

struct AutoInt {
  std::optional<int> number;  // nothing: auto
  bool operator==(const AutoInt&) const = default;
};

}  // namespace linac

template <>
struct YAML::convert<linac::AutoInt> {
  static Node encode(const linac::AutoInt& value) { return value.number ? Node(*value.number) : Node("auto"); }
  static bool decode(const Node& node, linac::AutoInt& value) {
    value.number.reset();
    if (node.Scalar() == "auto") return true;
    int number = 0;
    if (!convert<int>::decode(node, number)) return false;
    value.number = number;
    return true;
  }
};
