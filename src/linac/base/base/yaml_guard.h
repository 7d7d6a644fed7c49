#pragma once
// Whether a YAML text means one thing, and is small enough to be read: an alias stands for all that its anchor holds,
// so a few lines may stand for more than any memory holds, and a few brackets for more depth than a stack. Of a key
// that is there twice, readers take one or the other. Thread-safe.

#include <cstddef>
#include <string>

namespace linac::config {

inline constexpr size_t kYamlBytesMax = 16 << 20;
// Nodes as if each alias were written out: as many as the text has bytes, within these bounds.
inline constexpr size_t kYamlNodesMin = 1000, kYamlNodesMax = 500'000;
inline constexpr size_t kYamlDepthMax = 64;

/// Reads `text` without keeping it. User error beyond these bounds, for an alias within its own anchor, for a key that
/// its map has twice, with both lines, and for a second document; YAML::Exception for what is no YAML.
void need_bounded_yaml(const std::string& text, const std::string& where);

}  // namespace linac::config
