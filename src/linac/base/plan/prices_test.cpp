#include "linac/base/plan/prices.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::plan {
namespace {

constexpr const char* kSource = "date: 2026-11, source: offer";

std::string line(const std::string& list, const std::string& fields) {
  return list + ":\n- {" + fields + ", " + kSource + "}\n";
}

class OwnBook : public testing::Test {
 protected:
  Book with(const std::string& text) {
    write_file_atomically(file_, text);
    return read_book(file_.string());
  }
  std::string refused(const std::string& text) {
    return message_of([&] { with(text); });
  }
  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "own.yaml";
};

TEST(Prices, TheBuiltInBookIsWhole) {
  const Book book = read_book();
  std::set<std::string> devices, clouds;
  for (const Machine& machine : book.machines) {
    devices.insert(machine.device);
    clouds.insert(machine.cloud);
    EXPECT_NE(book.price(machine.name, Market::kOnDemand), nullptr) << machine.name;
    EXPECT_TRUE(machine.device == "cpu" || machine.device_memory_gib > 0) << machine.name;
    EXPECT_TRUE(machine.device == "cpu" || machine.fp32_tflops + machine.bf16_tflops > 0) << machine.name;
    EXPECT_EQ(machine.device == "cpu", machine.devices == 0) << machine.name;
  }
  EXPECT_EQ(devices, (std::set<std::string>{"A100", "A100-80GB", "H100", "H200", "P100", "T4", "TPU v2", "TPU v3",
                                            "V100", "cpu"}));
  EXPECT_EQ(clouds, (std::set<std::string>{"aws", "azure", "gcp", "oci"}));
  for (const Price& price : book.prices) {
    EXPECT_NE(book.machine(price.machine), nullptr) << price.machine;
    const Price* on_demand = book.price(price.machine, Market::kOnDemand, price.region);
    ASSERT_NE(on_demand, nullptr) << price.machine;
    EXPECT_EQ(price.market == Market::kSpot, price.usd_per_hour < on_demand->usd_per_hour) << price.machine;
  }
}

TEST(Prices, AMachineHasWhatItsDeviceTells) {
  const Book book = read_book();
  const Machine* eight = book.machine("gcp/v100x8");
  ASSERT_NE(eight, nullptr);
  EXPECT_EQ(eight->devices, 8);
  EXPECT_EQ(eight->fp32_tflops, 15.7);
  EXPECT_EQ(eight->device_memory_gib, 16);
  EXPECT_EQ(book.machine("aws/p3dn.24xlarge")->device_memory_gib, 32) << "its own line";
  EXPECT_EQ(book.machine("nowhere"), nullptr);
}

TEST(Prices, AreFoundByRegionMarketAndDate) {
  const Book book = parse_book(
      "prices:\n"
      "- {machine: m, region: a, usd_per_hour: 3, date: 2021-03, source: s}\n"
      "- {machine: m, region: a, usd_per_hour: 2, date: 2022, source: s}\n"
      "- {machine: m, region: b, usd_per_hour: 1.5, date: 2022, source: s}\n"
      "- {machine: m, region: b, usd_per_hour: 9, date: 2022-05-07, source: s}\n"
      "- {machine: m, region: b, market: spot, usd_per_hour: 0.5, date: 2020, source: s}\n",
      "book");
  const auto usd = [&](const Price* price) { return price == nullptr ? 0 : price->usd_per_hour; };
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand)), 9) << "the newest";
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand, "a")), 2);
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand, "", "2022-05")), 9) << "a day of that month";
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand, "", "2022-04")), 1.5) << "the cheapest of the newest";
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand, "", "2021-12")), 3);
  EXPECT_EQ(usd(book.price("m", Market::kOnDemand, "", "2021-02")), 0);
  EXPECT_EQ(usd(book.price("m", Market::kSpot)), 0.5);
  EXPECT_EQ(usd(book.price("m", Market::kSpot, "a")), 0);
  EXPECT_EQ(usd(book.price("n", Market::kOnDemand)), 0);
}

TEST_F(OwnBook, OverridesLineByLine) {
  const Book built_in = read_book();
  const Book one = with(line("prices", "machine: gcp/tpu-v3-8, region: europe-west4, market: spot, usd_per_hour: 2"));
  EXPECT_EQ(one.price("gcp/tpu-v3-8", Market::kSpot, "europe-west4")->usd_per_hour, 2);
  EXPECT_EQ(one.price("gcp/tpu-v3-8", Market::kSpot, "us-central1")->usd_per_hour, 2.4) << "another region's stays";
  EXPECT_EQ(one.prices.size(), built_in.prices.size());

  const Book all = with(line("prices", "machine: gcp/tpu-v3-8, market: spot, usd_per_hour: 1"));
  EXPECT_EQ(all.price("gcp/tpu-v3-8", Market::kSpot, "us-central1")->usd_per_hour, 1) << "without a region: everywhere";
  EXPECT_EQ(all.price("gcp/tpu-v3-8", Market::kOnDemand, "us-central1")->usd_per_hour, 8);
  EXPECT_EQ(all.prices.size(), built_in.prices.size() - 1);

  const Book node = with(line("machines", "name: own/node, cloud: own, device: V100, devices: 2, busy_w: 900") +
                         line("prices", "machine: own/node, usd_per_hour: 0.25") +
                         line("devices", "name: V100, fp32_tflops: 14") + line("carbon", "region: DE, g_per_kwh: 380"));
  EXPECT_EQ(node.machine("own/node")->fp32_tflops, 14);
  EXPECT_EQ(node.machine("gcp/v100x8")->fp32_tflops, 14);
  EXPECT_EQ(node.machines.size(), built_in.machines.size() + 1);
  EXPECT_EQ(node.carbon_of("DE")->g_per_kwh, 380);
  EXPECT_EQ(built_in.carbon_of("DE"), nullptr);
}

TEST_F(OwnBook, IsThatOfTheEnvironment) {
  write_file_atomically(file_, line("carbon", "region: DE, g_per_kwh: 380"));
  ASSERT_EQ(::setenv("LINAC_PRICES", file_.c_str(), 1), 0);
  EXPECT_NE(read_book().carbon_of("DE"), nullptr);
  write_file_atomically(folder_ / "other.yaml", "");
  EXPECT_EQ(read_book((folder_ / "other.yaml").string()).carbon_of("DE"), nullptr) << "the option comes first";
  ASSERT_EQ(::unsetenv("LINAC_PRICES"), 0);
}

TEST_F(OwnBook, IsRefusedWithFileLineAndField) {
  expect_in(refused(line("machines", "name: m, device: cpu, core: 4")),
            {"own.yaml:2", "unknown key 'machines[0].core'", "did you mean 'machines[0].cores'"});
  expect_in(refused(line("machines", "name: m, device: cpu, cores: many")), {"own.yaml:2", "machines[0].cores = many"});
  expect_in(refused(line("machines", "name: m")), {"own.yaml:2", "machines[0] has no device"});
  expect_in(refused(line("machines", "name: m, device: cpu, idle_w: 300, busy_w: 200")),
            {"machines[0].idle_w", "busy_w"});
  expect_in(refused(line("machines", "name: m, device: cpu, devices: -1")), {"machines[0].devices = -1"});
  expect_in(refused(line("machines", "name: m, device: cpu, cores: 99999999999")), {"machines[0].cores"});
  for (const char* bad : {"-1", ".nan", ".inf", "1e999", "0", "free", "[1, 2]"})
    expect_in(refused(line("prices", std::string("machine: aws/p3.2xlarge, usd_per_hour: ") + bad)),
              {"own.yaml:2", "prices[0].usd_per_hour"});
  expect_in(refused(line("prices", "machine: aws/p3.2xlarge")), {"own.yaml:2", "prices[0] has no usd_per_hour"});
  expect_in(refused(line("prices", "machine: aws/p3.2xlarge, usd_per_hour: 1, market: sport")),
            {"prices[0].market = sport", "on_demand or spot"});
  expect_in(refused(line("prices", "machine: gcp/v100x9, usd_per_hour: 1")), {"gcp/v100x9", "did you mean 'gcp/v100x"});
  expect_in(refused(line("machines", "name: m, device: V1000, devices: 1")), {"device 'V1000'", "did you mean 'V100'"});
  expect_in(refused(line("machines", "name: m, device: abacus, devices: 1")), {"add it to `devices`"});
  expect_in(refused("prices:\n- {machine: aws/p3.2xlarge, usd_per_hour: 1, date: 11/2026, source: s}\n"),
            {"own.yaml:2", "prices[0].date = 11/2026", "2026-11"});
  expect_in(refused("prices:\n- {machine: aws/p3.2xlarge, usd_per_hour: 1, source: s}\n"), {"prices[0] has no date"});
  expect_in(refused("carbon:\n- {region: DE, g_per_kwh: 1, date: 2026}\n"), {"carbon[0] has no source"});
  expect_in(refused(line("carbon", "region: DE, g_per_kwh: 1") + "- {region: DE, g_per_kwh: 2, " + kSource + "}\n"),
            {"own.yaml", "two lines for 'DE'"});
  expect_in(refused("- a list\n"), {"own.yaml", "map of settings"});
  expect_in(refused("prices: [\n"), {"own.yaml"});
}

TEST_F(OwnBook, IsAFile) {
  const auto refusal = [](const std::filesystem::path& file) { return message_of([&] { read_book(file.string()); }); };
  expect_in(refusal(folder_ / "gone.yaml"), {"gone.yaml", "no such file", "LINAC_PRICES"});
  expect_in(refusal(folder_.path()), {"is no file"});
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_in(refusal(folder_ / "pipe"), {"is no file"});
  write_file_atomically(folder_ / "large", "");
  std::filesystem::resize_file(folder_ / "large", size_t{17} << 20);
  expect_in(refusal(folder_ / "large"), {"is larger"});
  EXPECT_EQ(with("").machines.size(), read_book().machines.size()) << "an empty book overrides nothing";
}

TEST_F(OwnBook, HasRatesOfExchange) {
  const Book built_in = read_book();
  EXPECT_GT(built_in.rate_of("EUR").usd, 0.5);
  EXPECT_FALSE(built_in.rate_of("EUR").source.text.empty());
  EXPECT_EQ(built_in.rate_of("USD").usd, 1);
  expect_in(message_of([&] { built_in.rate_of("CHF"); }), {"CHF", "rates:"});
  write_file_atomically(file_,
                        line("rates", "currency: EUR, usd: 2") + "- {currency: CHF, usd: 1.25, " + kSource + "}\n");
  EXPECT_EQ(read_book(file_.string()).rate_of("EUR").usd, 2);
  EXPECT_EQ(read_book(file_.string()).rate_of("CHF").usd, 1.25);
  for (const char* bad : {"currency: euro, usd: 1", "currency: USD, usd: 1", "currency: EUR, usd: 0",
                          "currency: EUR, usd: -1", "currency: EUR, usd: .nan", "currency: EUR, usd: .inf", "usd: 1"})
    expect_in(refused(line("rates", bad)), {"rates[0]"});
}

TEST(Prices, AreOldAfterAYear) {
  const auto old = [](const char* date) { return is_old({date, ""}, "2026-11-29"); };
  EXPECT_TRUE(old("2025-11-28"));
  EXPECT_FALSE(old("2025-11-29"));
  EXPECT_TRUE(old("2025-11"));
  EXPECT_FALSE(old("2025-12"));
  EXPECT_TRUE(old("2025"));
  EXPECT_FALSE(old("2026"));
}

}  // namespace
}  // namespace linac::plan
