#include "linac/cli/common/server_word.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace linac::cli {
namespace {

constexpr std::string_view kWord = "--server";
constexpr std::string_view kWithoutService[] = {"serve", "supervise", "simulate", "data", "bench", "version", "help"};

std::string g_taken;  // NOLINT: of the line, which there is one of

}  // namespace

void take_server_word(int& argc, char** argv) {
  std::vector<char*> left{argv, argv + std::min(argc, 1)};
  std::string_view verb;
  std::string address;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      left.insert(left.end(), argv + i, argv + argc);
      break;
    }
    const bool joined = word.starts_with("--server=") && word.size() > kWord.size() + 1;
    const bool apart = word == kWord && i + 1 < argc && !std::string_view(argv[i + 1]).starts_with('-');
    if (joined || apart) {
      address = joined ? word.substr(kWord.size() + 1) : argv[++i];
      continue;
    }
    if (verb.empty() && !word.starts_with('-')) verb = word;
    left.push_back(argv[i]);
  }
  if (address.empty() || std::ranges::find(kWithoutService, verb) != std::end(kWithoutService)) return;
  setenv("LINAC_SERVER", address.c_str(), 1);
  g_taken = address;
  std::ranges::copy(left, argv);
  argc = static_cast<int>(left.size());
  argv[argc] = nullptr;
}

std::string_view taken_server() {
  return g_taken;
}

}  // namespace linac::cli
