#include "linac/spec/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/nearest.h"

namespace linac::spec {

void need(bool holds, const std::string& where, const std::string& what) {
  if (!holds) throw user_error(fmt::format("[job] {}: {}", where, what));
}

void need_one_of(const std::string& value, const std::vector<std::string>& known, const std::string& where,
                 const std::string& key) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  const auto near = nearest(value, known);
  need(false, where,
       fmt::format("{} = {} is not one of {}{}", key, value, fmt::join(known, ", "),
                   near ? fmt::format("; did you mean {}?", *near) : ""));
}

}  // namespace linac::spec
