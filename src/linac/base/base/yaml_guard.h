#pragma once
// Whether a YAML text is small enough to be read: an alias stands for all that its anchor holds, so a few lines may
// stand for more than any memory holds, and a few brackets for more depth than a stack. Thread-safe.

#include <cstddef>
#include <string>

namespace linac::config {

inline constexpr size_t kYamlBytesMax = 16 << 20;
// Nodes as if each alias were written out: as many as the text has bytes, within these bounds.
inline constexpr size_t kYamlNodesMin = 1000, kYamlNodesMax = 500'000;
inline constexpr size_t kYamlDepthMax = 64;

/// Reads the first document of `text` without keeping it. User error beyond these bounds, and for an alias within its
/// own anchor; YAML::Exception for what is no YAML.
void need_bounded_yaml(const std::string& text, const std::string& where);

}  // namespace linac::config
