#pragma once
// Keeps the cache folder within a size. What was used longest ago goes first; what a living process of this host uses
// stays. Several processes share a folder: who makes room holds a lock, and whoever uses a file has said so in a file
// of its own, which it holds locked while it lives. A folder that cannot be written bounds nothing and is no error.

#include <cstdint>
#include <filesystem>

namespace linac::storage {

/// What a cache may hold in all where nothing is said.
inline constexpr int64_t kCacheBytesDefault = int64_t{100} << 30;

/// $LINAC_CACHE_SIZE (bytes, or with KiB, MiB, GiB, TiB), else $LINAC_CACHE_GIB, else that. User error if it is no
/// number above 0.
int64_t cache_bytes_max();

/// Whether the file lies in this user's cache folder, by its name.
bool lies_in_cache(const std::filesystem::path& file);

/// Marks the file as used now, and as in use until this process ends; it need not be there yet. Say it before you look
/// whether it is there: it may go at any moment before. `root`: the cache that bounds it. Thread-safe.
void use_cached(const std::filesystem::path& file, const std::filesystem::path& root);
/// The same in this user's cache folder (storage.h).
void use_cached(const std::filesystem::path& file);

/// Ends one of the uses that this process has said of the file; after the last one it may go. Thread-safe.
void release_cached(const std::filesystem::path& file);

/// Removes files of the cache until it holds `bytes_max` less `wanted` at most, or only what is in use. What is counted
/// are its folders of copies that can be made again: downloads, packed tables, models. Returns the bytes removed.
int64_t make_room(const std::filesystem::path& root, int64_t bytes_max, int64_t wanted = 0);
/// The same in this user's cache folder, with its limit.
int64_t make_room();
/// On a full disk: removes files as above until `bytes` have gone, or only what is in use is left.
int64_t free_bytes(const std::filesystem::path& root, int64_t bytes);

}  // namespace linac::storage
