#pragma once
// FNV-1a (Fowler, Noll and Vo; RFC 9923): the same on every host and in every build, unlike std::hash. No
// protection from whoever chooses the text.

#include <cstdint>
#include <string_view>

namespace linac {

constexpr uint64_t fnv1a_64(std::string_view text) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

constexpr uint32_t fnv1a_32(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace linac
