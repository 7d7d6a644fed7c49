#include "linac/control/catalog/names.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "linac/base/base/error.h"

namespace linac::catalog {
namespace {

void ready() {
  static const bool done = ::sodium_init() >= 0;
  LINAC_CHECK(done);
}

constexpr std::array<const char*, 32> kHow{
    "agile",  "amber",   "bold",  "brave", "bright", "brisk", "calm",   "clear",  "cosmic", "crisp", "deep",
    "eager",  "early",   "fair",  "fine",  "gentle", "grand", "honest", "keen",   "light",  "lucid", "mild",
    "nimble", "patient", "proud", "quick", "quiet",  "sharp", "silent", "steady", "swift",  "warm"};
constexpr std::array<const char*, 32> kWhat{
    "baryon", "boson", "bunch",  "cascade", "cavity", "cell",   "charm", "coil",    "dipole",  "electron", "gluon",
    "hadron", "jet",   "kaon",   "lambda",  "lepton", "magnet", "meson", "muon",    "neutron", "photon",   "pion",
    "proton", "quark", "shower", "sigma",   "spark",  "tau",    "track", "trigger", "vertex",  "wire"};

}  // namespace

std::string random_run_name() {
  ready();
  return fmt::format("{}-{}-{}", kHow[::randombytes_uniform(kHow.size())], kWhat[::randombytes_uniform(kWhat.size())],
                     ::randombytes_uniform(1000));
}

}  // namespace linac::catalog
