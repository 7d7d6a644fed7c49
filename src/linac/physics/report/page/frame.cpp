#include "linac/physics/report/page/frame.h"

#include <fmt/format.h>

#include "linac/physics/report/page/html.h"

namespace linac::report {

std::string whole_page(std::string_view title, std::string_view body) {
  const std::string head = "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n" +
                           element("title", "", escape(title)) + element("style", "", page_style());
  const std::string main = element("h1", "", escape(title)) + std::string(body);
  return "<!DOCTYPE html>\n" +
         element("html", "lang=\"en\"", element("head", "", head) + element("body", "", element("main", "", main)));
}

std::string table_heads(const std::vector<std::string>& names) {
  std::string row;
  for (const std::string& name : names) row += element("th", "scope=\"col\"", name);
  return element("thead", "", element("tr", "", row));
}

std::string table_cell(const std::string& label, const std::string& content, const std::string& attributes) {
  return element("td", fmt::format("data-label=\"{}\"{}{}", escape(label), attributes.empty() ? "" : " ", attributes),
                 content);
}

std::string row_head(std::string_view title, std::string_view name) {
  return element("th", "scope=\"row\"",
                 element("span", "class=\"title\"", escape(title)) + element("code", "", escape(name)));
}

std::string pictures_part(const std::string& about, const std::vector<NamedPicture>& pictures) {
  std::string figures;
  for (const NamedPicture& one : pictures) {
    const int64_t width = one.picture.width / 2, height = one.picture.height / 2;
    const std::string image =
        fmt::format("<img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\">", data_uri(one.picture.png), width, height,
                    escape(fmt::format("{}: {}", one.title, about)));
    figures += element("figure", width > kNarrow ? "class=\"wide\"" : "",
                       element("div", "class=\"sheet\"", image) +
                           element("figcaption", "", element("b", "", escape(one.title)) + escape(one.caption)));
  }
  return figures.empty() ? "" : element("h2", "", "Pictures") + element("div", "class=\"pictures\"", figures);
}

std::string facts_part(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string list;
  for (const auto& [name, value] : facts)
    list += element("div", "", element("dt", "", escape(name)) + element("dd", "", escape(value)));
  return list.empty() ? "" : element("h2", "", "Facts") + element("dl", "", list);
}

std::string remarks_part(const std::vector<std::string>& remarks) {
  std::string items;
  for (const std::string& remark : remarks) items += element("li", "", escape(remark));
  return items.empty() ? "" : element("ul", "class=\"remarks\"", items);
}

}  // namespace linac::report
