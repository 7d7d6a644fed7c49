#include "linac/cli/control/database_option.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/private_file.h"

namespace linac::cli {
namespace {

constexpr size_t kAddressBytesMax = 4096;

std::string address_in(const std::string& file) {
  const auto text = read_private_file(file, kAddressBytesMax);
  if (!text) throw user_error(fmt::format("[serve] --db-file {}: there is no such file", file));
  std::string address = text->substr(0, text->find_first_of("\r\n"));
  if (address.empty()) throw user_error(fmt::format("[serve] --db-file {}: its first line is empty", file));
  return address;
}

void wipe(char* word) {
  std::memset(word, 0, std::strlen(word));
}

}  // namespace

void add_database_options(CLI::App& verb, std::string& database) {
  auto* address = verb.add_option(
      "--db", database,
      "postgresql://USER@HOST:PORT/NAME (default: SQLite in the folder); a password: in PGPASSWORD, or by --db-file");
  verb.add_option_function<std::string>(
          "--db-file", [&database](const std::string& file) { database = address_in(file); },
          "a file that you alone may read, with that address and its password in its first line")
      ->excludes(address);
}

std::vector<std::string> line_of_its_own(int argc, char** argv) {
  constexpr std::string_view kOption = "--db", kJoined = "--db=";
  std::vector<std::string> words(argv, argv + argc);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption && i + 1 < argc)
      wipe(argv[++i]);
    else if (word.starts_with(kJoined))
      wipe(argv[i] + kJoined.size());
  }
  return words;
}

}  // namespace linac::cli
