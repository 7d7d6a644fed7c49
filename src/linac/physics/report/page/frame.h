#pragma once
// What the pages of all reports have in common, each a piece of HTML with every text escaped. Pure, thread-safe.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linac/physics/report/page/named_picture.h"

namespace linac::report {

/// The style sheet: light and dark, wide and narrow, on paper.
std::string page_style();

/// A self-contained page that opens offline; `body` is HTML.
std::string whole_page(std::string_view title, std::string_view body);

/// A column head for each name, which is HTML.
std::string table_heads(const std::vector<std::string>& names);
/// A cell that repeats its column's head where the page is too narrow for columns. `content` is HTML.
std::string table_cell(const std::string& label, const std::string& content, const std::string& attributes = "");
/// The head of a row: the title and, small, the name that files and options know it by.
std::string row_head(std::string_view title, std::string_view name);

/// The pictures with their captions; `about` ends the text for those who do not see them.
std::string pictures_part(const std::string& about, const std::vector<NamedPicture>& pictures);

/// Files, dates, versions.
std::string facts_part(const std::vector<std::pair<std::string, std::string>>& facts);

/// A list of what a reader must know; empty without remarks.
std::string remarks_part(const std::vector<std::string>& remarks);

}  // namespace linac::report
