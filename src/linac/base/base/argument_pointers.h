#pragma once

#include <string>
#include <vector>

namespace linac {

/// `texts` as execve(2) wants arguments and environments: a pointer to each and a null one behind. They point into
/// `texts`.
inline std::vector<char*> argument_pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace linac
