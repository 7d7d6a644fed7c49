#pragma once
// The price book: machines that can be rented or are there, what they cost, draw and can do; carbon by region. Built
// into the program (prices.yaml beside this header), dated, with a source a line; a user's own book overrides it entry
// by entry. What no source says is 0. Values; thread-safe.

#include <string>
#include <vector>

namespace linac::plan {

enum class Market { kOnDemand, kSpot };

const char* to_string(Market market);  // as books have it: "on_demand", "spot"

struct Source {
  std::string date;  // "2021-03", or "2021" where no month is known: when it was so
  std::string text;  // URL or paper
};

/// A GPU, or a core of a TPU: what machines that name it have, unless their own line says otherwise.
struct Device {
  std::string name;
  double memory_gib = 0, fp32_tflops = 0, bf16_tflops = 0, memory_gb_s = 0;
  double watts = 0;  // at most
  Source source;
};

struct Machine {
  std::string name;                              // "gcp/v100x8"; unique
  std::string cloud;                             // "gcp", "aws", "azure", "oci"; "own"
  std::string device;                            // "V100", "TPU v3", "cpu"
  int devices = 0;                               // GPUs, or TPU cores; 0: computes on its processor
  int cores = 0;                                 // physical, or half its vCPUs
  double memory_gib = 0, device_memory_gib = 0;  // of the host; of each device
  double fp32_tflops = 0, bf16_tflops = 0;       // peak, of each device; of a cpu machine: of all its cores
  double memory_gb_s = 0;                        // of each device; of a cpu machine: of the host
  double idle_w = 0, busy_w = 0;                 // of the machine, devices included
  double link_gbit_s = 0;                        // of its network
  Source source;
};

struct Price {
  std::string machine, region;  // region empty: everywhere
  Market market = Market::kOnDemand;
  double usd_per_hour = 0;  // of the machine
  Source source;
};

struct Carbon {
  std::string region;  // "europe-west1", "DE"
  double g_per_kwh = 0;
  Source source;
};

/// US dollars for one of another currency.
struct Rate {
  std::string currency;  // "EUR"
  double usd = 0;
  Source source;
};

struct Book {
  std::vector<Device> devices;
  std::vector<Machine> machines;
  std::vector<Price> prices;
  std::vector<Carbon> carbon;
  std::vector<Rate> rates;

  const Machine* machine(const std::string& name) const;
  /// The newest one; of `date` ("2021-03") the newest that is no younger. Empty region: any, the cheapest of the
  /// newest.
  const Price* price(const std::string& machine, Market market, const std::string& region = "",
                     const std::string& date = "") const;
  const Carbon* carbon_of(const std::string& region) const;
  /// One to one for USD. User error for a currency that is in no line.
  Rate rate_of(const std::string& currency) const;
};

/// prices.yaml.
extern const char* const kBuiltInBook;

/// The built-in book, overridden by that of `file` (empty: of LINAC_PRICES, if set). A line takes the place of the
/// built-in ones of its device, machine, region or currency; a price of those of its machine, market and region, or
/// without a region of its machine and market. User error naming file, line, field.
Book read_book(const std::string& file = "");
/// One book alone: machines lack what their device would tell. `where` names it in errors.
Book parse_book(const std::string& text, const std::string& where);
Book read_own_book(const std::string& file);
/// Whether it was so more than a year before `today` ("2026-11-29"). A year alone counts from its first day.
bool is_old(const Source& source, const std::string& today);
/// "2026-11-29", UTC.
std::string today();

}  // namespace linac::plan
