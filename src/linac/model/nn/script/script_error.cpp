#include "linac/model/nn/script/script_error.h"

#include <c10/util/Exception.h>

#include <cctype>

namespace linac::nn::script {

std::string reason(const std::exception& error) {
  const auto* const own = dynamic_cast<const c10::Error*>(&error);
  std::string text = own == nullptr ? error.what() : own->what_without_backtrace();
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace linac::nn::script
