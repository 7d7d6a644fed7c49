#include "linac/control/sites/label.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "linac/base/base/secure_random.h"

namespace linac::sites {
namespace {

constexpr size_t kLettersMax = 100;

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

bool is_label(const std::string& text) {
  return !text.empty() && text.size() <= kLettersMax && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || c == '.' || c == '_' || c == '-'; });
}

std::string new_label(const std::string& job_name) {
  constexpr size_t kNameLetters = 60, kChance = 4;
  std::string name = job_name.substr(0, kNameLetters);
  for (char& c : name)
    if (!is_letter(c) && c != '_' && c != '-') c = '-';
  if (name.empty() || !is_letter(name[0])) name = "run" + name;
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}", name, fmt::localtime(std::time(nullptr)), random_hex(kChance));
}

}  // namespace linac::sites
