#include "linac/model/graph/brief.h"

#include <fmt/format.h>

namespace linac::graph {

std::string brief(const nlohmann::json& value) {
  using nlohmann::json;
  constexpr size_t kLettersMax = 200;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kLettersMax) text = fmt::format("{}... ({} characters)", text.substr(0, kLettersMax), text.size());
  return text;
}

}  // namespace linac::graph
