// A small fixed compilation: what others take is told in multiples of it (tests/runner/minutes.py), since a minute of
// one processor is not a minute of another. It uses the standard library alone and never changes, or the figures of
// docs/internals/minutes.md would mean nothing.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace yardstick {

using Value = std::variant<int, double, std::string, std::vector<int>, std::map<std::string, double>>;

template <int N>
struct Layer {
  std::map<std::string, Value> values;
  std::unordered_map<std::string, std::function<double(double)>> functions;

  double apply(const std::vector<std::string>& words) {
    std::vector<std::pair<std::string, double>> found;
    for (const std::string& word :
         words | std::views::filter([](const std::string& one) { return one.size() % (N + 1) != 0; })) {
      const auto value = values.find(word);
      if (value == values.end()) continue;
      found.emplace_back(word, std::visit(
                                   [](const auto& one) -> double {
                                     if constexpr (requires { one.size(); })
                                       return static_cast<double>(one.size() * N);
                                     else
                                       return static_cast<double>(one) / (N + 1);
                                   },
                                   value->second));
    }
    std::ranges::sort(found, {}, &std::pair<std::string, double>::second);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double sum = 0;
    for (const auto& [word, value] : found) sum += functions.contains(word) ? functions.at(word)(value) : value;
    return sum + Layer<N - 1>{}.apply(words);
  }
};

template <>
struct Layer<0> {
  double apply(const std::vector<std::string>& words) { return static_cast<double>(words.size()); }
};

double all(const std::vector<std::string>& words) {
  auto layer = std::make_unique<Layer<3>>();
  return layer->apply(words);
}

}  // namespace yardstick
