#include "linac/physics/report/page/html.h"

#include "linac/base/base/base64.h"

namespace linac::report {

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  std::string result = "<";
  result += name;
  if (!attributes.empty()) {
    result += ' ';
    result += attributes;
  }
  result += '>';
  result += content;
  result += "</";
  result += name;
  result += ">\n";
  return result;
}

std::string data_uri(std::string_view png) {
  return "data:image/png;base64," + base64(png);
}

}  // namespace linac::report
