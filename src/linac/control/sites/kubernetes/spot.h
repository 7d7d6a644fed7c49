#pragma once
// Nodes that a cloud may take away again, at a lower price: the labels by which a pod asks for them. Pure, thread-safe.

#include <string>

namespace linac::sites {

struct SpotNodes {
  const char* word;
  const char *label, *value;
  bool tainted;  // by the same words: pods have to tolerate it
};

/// The entry of that word; null for the empty word. User error for others, beginning with `place`.
const SpotNodes* spot_nodes(const std::string& word, const std::string& place = "[sites] spot");

}  // namespace linac::sites
