#include "linac/base/job/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::job {
namespace {

// What others call a value, where the nearest letters would mislead.
constexpr std::pair<const char*, const char*> kOtherWords[] = {
    {"gpu", "cuda"},         {"float32", "fp32"},        {"float16", "bf16"},      {"fp16", "bf16"},
    {"bfloat16", "bf16"},    {"pytorch", "torchscript"}, {"torch", "torchscript"}, {"pt2", "torchscript"},
    {"tensorflow", "keras"}, {"cos", "cosine"},          {"exp", "exponential"},   {"minimum", "min"},
    {"maximum", "max"}};

}  // namespace

void need(bool holds, const std::string& where, const std::string& what) {
  if (!holds) throw user_error(fmt::format("[job] {}: {}", where, what));
}

void need_one_of(const std::string& value, const std::vector<std::string>& known, const std::string& where,
                 const std::string& key) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  auto near = nearest(value, known);
  for (const auto& [other, here] : kOtherWords)
    if (value == other && std::find(known.begin(), known.end(), here) != known.end()) near = here;
  need(false, where,
       fmt::format("{} = {} is not one of {}{}", key, value, fmt::join(known, ", "),
                   near ? fmt::format("; did you mean {}?", *near) : ""));
}

}  // namespace linac::job
