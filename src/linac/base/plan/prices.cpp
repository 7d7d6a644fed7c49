#include "linac/base/plan/prices.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <regex>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/yaml_guard.h"

namespace linac::plan {
namespace {

constexpr const char* kUsd = "USD";
constexpr int kCountMax = 1'000'000;  // devices and cores of a machine

template <class V>
void source_fields(Source& source, V& v) {
  v("date", source.date, "");
  v("source", source.text, "");
}

// The lines of a book, as YAML has them.
struct DeviceLine : Device {
  template <class V>
  void fields(V& v) {
    v("name", name, "");
    v("memory_gib", memory_gib, "");
    v("fp32_tflops", fp32_tflops, "");
    v("bf16_tflops", bf16_tflops, "");
    v("memory_gb_s", memory_gb_s, "");
    v("watts", watts, "");
    source_fields(source, v);
  }
};

struct MachineLine : Machine {
  template <class V>
  void fields(V& v) {
    v("name", name, "");
    v("cloud", cloud, "");
    v("device", device, "");
    v("devices", devices, "");
    v("cores", cores, "");
    v("memory_gib", memory_gib, "");
    v("device_memory_gib", device_memory_gib, "");
    v("fp32_tflops", fp32_tflops, "");
    v("bf16_tflops", bf16_tflops, "");
    v("memory_gb_s", memory_gb_s, "");
    v("idle_w", idle_w, "");
    v("busy_w", busy_w, "");
    v("link_gbit_s", link_gbit_s, "");
    source_fields(source, v);
  }
};

struct PriceLine : Price {
  std::string market_word = to_string(Market::kOnDemand);
  template <class V>
  void fields(V& v) {
    v("machine", machine, "");
    v("region", region, "");
    v("market", market_word, "");
    v("usd_per_hour", usd_per_hour, "");
    source_fields(source, v);
  }
};

struct CarbonLine : Carbon {
  template <class V>
  void fields(V& v) {
    v("region", region, "");
    v("g_per_kwh", g_per_kwh, "");
    source_fields(source, v);
  }
};

struct RateLine : Rate {
  template <class V>
  void fields(V& v) {
    v("currency", currency, "");
    v("usd", usd, "");
    source_fields(source, v);
  }
};

struct Lines {
  std::vector<DeviceLine> devices;
  std::vector<MachineLine> machines;
  std::vector<PriceLine> prices;
  std::vector<CarbonLine> carbon;
  std::vector<RateLine> rates;
  template <class V>
  void fields(V& v) {
    v("devices", devices, "");
    v("machines", machines, "");
    v("prices", prices, "");
    v("carbon", carbon, "");
    v("rates", rates, "");
  }
};

/// Checks one line of a list; `field` names it: "prices[3]".
class LineCheck {
 public:
  LineCheck(const YAML::Node& list, size_t index, const char* list_name, const std::string& where)
      : node_(list.IsSequence() ? list[index] : list), field_(fmt::format("{}[{}]", list_name, index)), where_(where) {}

  void not_empty(const char* name, const std::string& value) const {
    if (value.empty()) refuse(name, "a text; each line has it");
  }
  void amount(const char* name, double value) const {
    if (!std::isfinite(value) || value < 0) refuse(name, "a number that is not negative");
  }
  void positive(const char* name, double value) const {
    if (!std::isfinite(value) || value <= 0) refuse(name, "a number above 0");
  }
  void count(const char* name, int value) const {
    if (value < 0 || value > kCountMax) refuse(name, fmt::format("a whole number from 0 to {}", kCountMax));
  }
  void source(const Source& source) const {
    static const std::regex form(R"(\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?)");
    if (!std::regex_match(source.date, form)) refuse("date", "when it was so: 2026, 2026-11 or 2026-11-29");
    not_empty("source", source.text);
  }
  [[noreturn]] void refuse(const char* name, const std::string& wanted) const {
    const YAML::Node value = node_[name];
    if (value.IsDefined()) config::wrong_value(where_, value, field_ + "." + name, wanted);
    throw user_error(
        fmt::format("[yaml] {}:{}: {} has no {}; wanted is {}", where_, node_.Mark().line + 1, field_, name, wanted));
  }

 private:
  const YAML::Node node_;
  const std::string field_;
  const std::string& where_;
};

void check(const LineCheck& line, const DeviceLine& device) {
  line.not_empty("name", device.name);
  line.amount("memory_gib", device.memory_gib);
  line.amount("fp32_tflops", device.fp32_tflops);
  line.amount("bf16_tflops", device.bf16_tflops);
  line.amount("memory_gb_s", device.memory_gb_s);
  line.amount("watts", device.watts);
}

void check(const LineCheck& line, const MachineLine& machine) {
  line.not_empty("name", machine.name);
  line.not_empty("device", machine.device);
  line.count("devices", machine.devices);
  line.count("cores", machine.cores);
  line.amount("memory_gib", machine.memory_gib);
  line.amount("device_memory_gib", machine.device_memory_gib);
  line.amount("fp32_tflops", machine.fp32_tflops);
  line.amount("bf16_tflops", machine.bf16_tflops);
  line.amount("memory_gb_s", machine.memory_gb_s);
  line.amount("idle_w", machine.idle_w);
  line.amount("busy_w", machine.busy_w);
  line.amount("link_gbit_s", machine.link_gbit_s);
  if (machine.busy_w > 0 && machine.idle_w > machine.busy_w) line.refuse("idle_w", "at most busy_w");
}

void check(const LineCheck& line, PriceLine& price) {
  line.not_empty("machine", price.machine);
  line.positive("usd_per_hour", price.usd_per_hour);
  if (price.market_word == to_string(Market::kSpot))
    price.market = Market::kSpot;
  else if (price.market_word != to_string(Market::kOnDemand))
    line.refuse("market", "on_demand or spot");
}

void check(const LineCheck& line, const CarbonLine& carbon) {
  line.not_empty("region", carbon.region);
  line.amount("g_per_kwh", carbon.g_per_kwh);
}

void check(const LineCheck& line, const RateLine& rate) {
  static const std::regex code("[A-Z]{3}");
  if (!std::regex_match(rate.currency, code) || rate.currency == kUsd)
    line.refuse("currency", "a code of three capitals that is not USD, e.g. EUR");
  line.positive("usd", rate.usd);
}

/// Names that two lines of a list must not share.
std::string key(const Device& device) {
  return device.name;
}
std::string key(const Machine& machine) {
  return machine.name;
}
std::string key(const Carbon& carbon) {
  return carbon.region;
}
std::string key(const Rate& rate) {
  return rate.currency;
}
std::string key(const Price& price) {
  return fmt::format("{} {} {}, {}", price.machine, to_string(price.market), price.region, price.source.date);
}

template <class Line>
void check_list(const YAML::Node& root, const char* name, std::vector<Line>& lines, const std::string& where) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < lines.size(); ++i) {
    const LineCheck line(root[name], i, name, where);
    check(line, lines[i]);
    line.source(lines[i].source);
    keys.push_back(key(lines[i]));
  }
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
    throw user_error(fmt::format("[prices] {}: {} has two lines for '{}'; leave one", where, name, *twice));
}

/// `own` in place of those that mean the same.
template <class Line>
void override(std::vector<Line>& all, const std::vector<Line>& own,
              const std::function<bool(const Line&, const Line&)>& same) {
  std::erase_if(all, [&](const Line& line) {
    return std::ranges::any_of(own, [&](const Line& mine) { return same(line, mine); });
  });
  all.insert(all.end(), own.begin(), own.end());
}

void fill(double& value, double from) {
  if (value == 0) value = from;
}

/// Machines get what their device tells.
void complete(Book& book) {
  for (Machine& machine : book.machines) {
    const auto device = std::ranges::find(book.devices, machine.device, &Device::name);
    if (device == book.devices.end()) continue;
    fill(machine.device_memory_gib, device->memory_gib);
    fill(machine.fp32_tflops, device->fp32_tflops);
    fill(machine.bf16_tflops, device->bf16_tflops);
    fill(machine.memory_gb_s, device->memory_gb_s);
  }
}

/// Of a book of the user's own, whose line names `name`.
template <class Line>
void need_named(const char* what, const std::string& name, const std::vector<Line>& lines, const std::string& file) {
  std::vector<std::string> names;
  for (const Line& line : lines) names.push_back(line.name);
  if (std::ranges::find(names, name) != names.end()) return;
  const auto near = nearest(name, names);
  throw user_error(
      fmt::format("[prices] {}: the {} '{}' is in no line{}", file, what, name,
                  near ? fmt::format("; did you mean '{}'?", *near) : fmt::format("; add it to `{}s`", what)));
}

std::string own_text(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none))
    throw user_error(fmt::format("[prices] {}: there is no such file; name one with --prices or LINAC_PRICES", file));
  if (!std::filesystem::is_regular_file(file, none))  // a pipe would never end
    throw user_error(fmt::format("[prices] {}: is no file; a book is a file of YAML", file));
  if (std::filesystem::file_size(file, none) > config::kYamlBytesMax)
    throw user_error(fmt::format("[prices] {}: is larger than {} bytes; a book is a few lines of YAML", file,
                                 config::kYamlBytesMax));
  return read_file(file);
}

}  // namespace

const char* to_string(Market market) {
  return market == Market::kOnDemand ? "on_demand" : "spot";
}

const Machine* Book::machine(const std::string& name) const {
  const auto found = std::ranges::find(machines, name, &Machine::name);
  return found == machines.end() ? nullptr : &*found;
}

const Price* Book::price(const std::string& machine, Market market, const std::string& region,
                         const std::string& date) const {
  const Price* best = nullptr;
  for (const Price& price : prices) {
    if (price.machine != machine || price.market != market) continue;
    if (!region.empty() && !price.region.empty() && price.region != region) continue;
    if (!date.empty() && price.source.date.substr(0, date.size()) > date) continue;
    const bool better = best == nullptr || price.source.date > best->source.date ||
                        (price.source.date == best->source.date && price.usd_per_hour < best->usd_per_hour);
    if (better) best = &price;
  }
  return best;
}

const Carbon* Book::carbon_of(const std::string& region) const {
  const auto found = std::ranges::find(carbon, region, &Carbon::region);
  return found == carbon.end() ? nullptr : &*found;
}

Rate Book::rate_of(const std::string& currency) const {
  if (currency == kUsd) return {.currency = kUsd, .usd = 1, .source = {}};
  const auto found = std::ranges::find(rates, currency, &Rate::currency);
  if (found != rates.end()) return *found;
  throw user_error(
      fmt::format("[prices] no rate of exchange is known for '{}'; write one into a book of your own (--prices): "
                  "rates: [{{currency: {}, usd: 1.2, date: 2026-11, source: my bank}}]",
                  currency, currency));
}

Book parse_book(const std::string& text, const std::string& where) {
  const YAML::Node root = config::parse_text(text, where);
  if (root.IsNull()) return {};
  Lines lines;
  config::read(root, lines, where);
  check_list(root, "devices", lines.devices, where);
  check_list(root, "machines", lines.machines, where);
  check_list(root, "prices", lines.prices, where);
  check_list(root, "carbon", lines.carbon, where);
  check_list(root, "rates", lines.rates, where);
  return {.devices = {lines.devices.begin(), lines.devices.end()},
          .machines = {lines.machines.begin(), lines.machines.end()},
          .prices = {lines.prices.begin(), lines.prices.end()},
          .carbon = {lines.carbon.begin(), lines.carbon.end()},
          .rates = {lines.rates.begin(), lines.rates.end()}};
}

Book read_own_book(const std::string& file) {
  return parse_book(own_text(file), file);
}

Book read_book(const std::string& file) {
  Book book = parse_book(kBuiltInBook, "prices.yaml");
  const char* const named = std::getenv("LINAC_PRICES");
  if (const std::string path = !file.empty() || named == nullptr ? file : named; !path.empty()) {
    const Book own = read_own_book(path);
    override<Device>(book.devices, own.devices, [](const auto& a, const auto& b) { return a.name == b.name; });
    override<Machine>(book.machines, own.machines, [](const auto& a, const auto& b) { return a.name == b.name; });
    override<Carbon>(book.carbon, own.carbon, [](const auto& a, const auto& b) { return a.region == b.region; });
    override<Rate>(book.rates, own.rates, [](const auto& a, const auto& b) { return a.currency == b.currency; });
    override<Price>(book.prices, own.prices, [](const auto& a, const auto& b) {
      return a.machine == b.machine && a.market == b.market && (b.region.empty() || a.region == b.region);
    });
    for (const Machine& machine : own.machines)
      if (machine.device != "cpu") need_named("device", machine.device, book.devices, path);
    for (const Price& price : own.prices) need_named("machine", price.machine, book.machines, path);
  }
  complete(book);
  return book;
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

bool is_old(const Source& source, const std::string& today) {
  std::string day = source.date;
  while (day.size() < std::string_view("2026-11-29").size()) day += "-01";
  const int year = std::atoi(day.substr(0, 4).c_str());
  return fmt::format("{:04}{}", year + 1, day.substr(4)) < today;
}

}  // namespace linac::plan
