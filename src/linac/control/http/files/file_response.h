#pragma once
// Files as answers: their type, the part that a Range header asks for, and headers that keep a browser from running
// them.

#include <string>
#include <string_view>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

/// The whole of `file`, under the name `name`. The type follows from the name's ending and is one that a browser shows
/// and never runs; everything else is a download.
Response file_response(Descriptor file, std::string_view name);

/// Cuts the file to what the request's Range header asks for (one range of bytes: 206; one outside: 416).
void prepare_range(const Request& request, Response& response);

/// Fills `piece` from the place `at` of what is to be sent; how much, 0 if the file has become shorter.
size_t read_piece(const FileBody& file, int64_t at, std::vector<char>& piece);

}  // namespace linac::http
