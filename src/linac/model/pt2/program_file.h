#pragma once
// A .pt2 file of torch.export.save, read whole into memory, and written again with other weights. Immutable,
// thread-safe.

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/io/archive/zip_archive.h"
#include "linac/model/pt2/program.h"

namespace linac::pt2 {

class ProgramFile {
 public:
  /// User error naming the file, and what to do, if it is no zip file, of a version of PyTorch whose files are
  /// different, or not complete.
  explicit ProgramFile(const std::filesystem::path& path);

  const Program& program() const { return program_; }

  struct Tensor {
    Payload layout;          // lies within the bytes
    std::string_view bytes;  // of the file, which must outlive it: `layout` says which of them are this tensor's
    bool trainable = false;
    /// Two names of one weight (weights that are shared) have one place.
    std::string place;
  };
  /// The weight of a parameter, buffer or constant. User error naming it if the file does not hold it, or holds another
  /// type of number than is known.
  Tensor tensor(const ProgramInput& input) const;
  /// Its numbers. User error as tensor().
  Numbers numbers(const ProgramInput& input) const;

  /// The file's bytes with these values of weights of floats, each of the size that tensor() gives, and `notes`.
  std::string with(const std::vector<std::pair<const ProgramInput*, std::span<const float>>>& weights,
                   const std::string& notes) const;
  /// What with() took along; empty if there is nothing.
  std::string notes() const;

 private:
  [[noreturn]] void fail(const std::string& why) const;
  const std::string* find(const std::string& member) const;
  const std::string& need(const std::string& member) const;
  /// Of a parameter, buffer or constant; its folder and where it lies there.
  std::pair<std::string, Payload> payload(const ProgramInput& input) const;

  std::string path_, root_, model_;  // the folder that holds everything; the program's name
  std::vector<archive::ZipMember> members_;
  std::map<std::string, size_t> index_;
  Program program_;
  std::map<std::string, Payload> weights_, constants_;
};

/// The places of a tensor's numbers among its bytes, counted in numbers, in the order of its axes.
std::vector<int64_t> places(const Payload& layout);

/// Whether the file is a .pt2: by its name, or by what is inside.
bool is_program_file(const std::filesystem::path& path);

}  // namespace linac::pt2
