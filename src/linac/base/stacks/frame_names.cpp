#include "linac/base/stacks/frame_names.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "linac/base/base/thread_facts.h"

namespace linac::stacks {
namespace {

constexpr size_t kNameBytesMax = 240;      // of a line of the log; templates make names of kilobytes
constexpr size_t kMangledBytesMax = 4096;  // what is cut off makes a name that cannot be demangled
constexpr size_t kSymbolsAtOnce = 8192;
constexpr size_t kSectionsMax = 65536;

struct Place {
  uintptr_t address;        // in the process
  uint64_t file_offset;     // where the file holds the same byte
  uint64_t value = 0;       // what the file's symbols call it
  std::string symbol = {};  // mangled
};

// An ELF file of 64 bits, read piece by piece: a mapping of a file on a failing disk would be a SIGBUS.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ElfFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // Sets `value`, and `symbol` where there is a function.
  void find(std::vector<Place>& places) const {
    struct stat status = {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const auto header = read<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header[0].e_ident[EI_CLASS] != ELFCLASS64) return;
    set_values(header[0], places);
    const auto sections = read<Elf64_Shdr>(header[0].e_shoff, std::min<size_t>(header[0].e_shnum, kSectionsMax));
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      const auto table = std::find_if(sections.begin(), sections.end(),
                                      [type](const Elf64_Shdr& section) { return section.sh_type == type; });
      if (table == sections.end() || table->sh_link >= sections.size()) continue;
      set_symbols(*table, sections[table->sh_link], places);
      return;
    }
  }

 private:
  // Up to `count`, fewer at the end of the file.
  template <class T>
  std::vector<T> read(uint64_t offset, size_t count) const {
    std::vector<T> items(count);
    const ssize_t size = ::pread(descriptor_, items.data(), count * sizeof(T), static_cast<off_t>(offset));
    items.resize(size > 0 ? static_cast<size_t>(size) / sizeof(T) : 0);
    return items;
  }

  void set_values(const Elf64_Ehdr& header, std::vector<Place>& places) const {
    for (Place& place : places) place.value = place.file_offset;
    for (const Elf64_Phdr& segment : read<Elf64_Phdr>(header.e_phoff, header.e_phnum)) {
      if (segment.p_type != PT_LOAD) continue;
      for (Place& place : places) {
        if (place.file_offset >= segment.p_offset && place.file_offset - segment.p_offset < segment.p_filesz) {
          place.value = place.file_offset - segment.p_offset + segment.p_vaddr;
        }
      }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.value < b.value; });
  }

  void set_symbols(const Elf64_Shdr& table, const Elf64_Shdr& names, std::vector<Place>& places) const {
    const uint64_t end = table.sh_size / sizeof(Elf64_Sym);
    for (uint64_t first = 0; first < end; first += kSymbolsAtOnce) {
      const auto symbols = read<Elf64_Sym>(table.sh_offset + first * sizeof(Elf64_Sym),
                                           static_cast<size_t>(std::min<uint64_t>(kSymbolsAtOnce, end - first)));
      if (symbols.empty()) return;
      for (const Elf64_Sym& symbol : symbols) set_symbol(symbol, names.sh_offset, places);
    }
  }

  void set_symbol(const Elf64_Sym& symbol, uint64_t names_offset, std::vector<Place>& places) const {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) return;
    auto place = std::lower_bound(places.begin(), places.end(), symbol.st_value,
                                  [](const Place& a, uint64_t value) { return a.value < value; });
    for (; place != places.end() && place->value - symbol.st_value < symbol.st_size; ++place) {
      auto text = read<char>(names_offset + symbol.st_name, kMangledBytesMax);
      text.push_back('\0');
      const std::string name = text.data();
      // Of several names of one function the plain one: read, not __read.
      if (place->symbol.empty() || name.size() < place->symbol.size()) place->symbol = name;
    }
  }

  int descriptor_;
};

struct Mapping {
  uintptr_t first, last;  // the last one is outside
  uint64_t file_offset;
  std::string path;  // "" for memory of no file, "[vdso]" for the kernel's
};

std::vector<Mapping> code_mappings(pid_t process) {
  std::vector<Mapping> mappings;
  std::istringstream text(proc_text(fmt::format("/proc/{}/maps", process)));
  for (std::string line; std::getline(text, line);) {
    // "55d0-55f0 r-xp 00002000 fd:01 1234  /usr/bin/linac"
    std::istringstream words(line);
    Mapping mapping{};
    char dash = 0;
    std::string permissions, device, inode;
    words >> std::hex >> mapping.first >> dash >> mapping.last >> permissions >> mapping.file_offset >> device >> inode;
    if (permissions.find('x') == std::string::npos) continue;
    std::getline(words >> std::ws, mapping.path);
    mappings.push_back(mapping);
  }
  return mappings;
}

std::string module_name(const std::string& path) {
  if (path.empty()) return "code made at run time";
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(" (deleted)"));
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  std::string name = status == 0 && text ? text.get() : symbol;
  if (name.size() > kNameBytesMax) name = name.substr(0, kNameBytesMax - 3) + "...";
  return name;
}

}  // namespace

void name_frames(pid_t process, std::vector<uintptr_t> addresses,
                 const std::function<void(uintptr_t, const std::string&)>& put) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const std::vector<Mapping> mappings = code_mappings(process);
  std::map<std::string, std::vector<Place>> modules;
  for (const uintptr_t address : addresses) {
    const auto mapping = std::find_if(mappings.begin(), mappings.end(), [address](const Mapping& one) {
      return address >= one.first && address < one.last;
    });
    if (mapping == mappings.end()) {
      put(address, fmt::format("no code at 0x{:x}", address));
      continue;
    }
    const Place place{.address = address, .file_offset = address - mapping->first + mapping->file_offset};
    put(address, fmt::format("{}+0x{:x}", module_name(mapping->path), place.file_offset));
    if (mapping->path.starts_with('/')) modules[mapping->path].push_back(place);
  }
  // The program itself by the kernel's link, which still leads to it when it was built anew.
  const std::string program_link = fmt::format("/proc/{}/exe", process);
  const std::string program = proc_link(program_link);
  for (auto& [path, places] : modules) {
    ElfFile(path == program ? program_link : path).find(places);
    for (const Place& place : places) {
      if (place.symbol.empty()) continue;
      put(place.address, fmt::format("{} ({}+0x{:x})", demangled(place.symbol), module_name(path), place.value));
    }
  }
}

}  // namespace linac::stacks
