#include "parallel/input/example_census.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/graph/error.h"
#include "parallel/grouped.h"

namespace towerflow::parallel {
namespace {

/// The finalizer of SplitMix64 (Steele et al. 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = mixed(bytes.size() + kStep);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = mixed((hash ^ word) + kStep);
  }
  return hash;
}

}  // namespace

std::vector<std::uint64_t> hash_rows(const Array& batch, Site site) {
  if (batch.shape().rank() == 0) {
    throw ValueError("a batch of examples needs a first dimension, got a scalar", {.site = site});
  }
  const auto rows = static_cast<std::size_t>(batch.shape().size(0));
  std::vector<std::uint64_t> hashes(rows);
  if (rows == 0) return hashes;
  const std::size_t width = static_cast<std::size_t>(batch.elements()) / rows;
  if (batch.dtype() == DType::string) {
    const auto* texts = batch.data<std::string>();
    for (std::size_t row = 0; row < rows; ++row) {
      std::uint64_t hash = width;
      for (std::size_t i = 0; i < width; ++i) {
        hash = mixed(hash ^ hash_bytes(texts[row * width + i]));
      }
      hashes[row] = hash;
    }
    return hashes;
  }
  const std::size_t bytes = batch.bytes() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    hashes[row] = hash_bytes({static_cast<const char*>(batch.raw()) + row * bytes, bytes});
  }
  return hashes;
}

ExampleCensus::ExampleCensus(int num_towers, Site site) {
  if (num_towers < 1) {
    throw ValueError(fmt::format("the number of towers must be at least 1, got {}", num_towers),
                     {.site = site});
  }
  reads_.resize(static_cast<std::size_t>(num_towers));
}

void ExampleCensus::add(int tower, const Array& batch, Site site) {
  if (tower < 0 || static_cast<std::size_t>(tower) >= reads_.size()) {
    throw ValueError(fmt::format("there is no tower {}: there are {}", tower, reads_.size()),
                     {.site = site});
  }
  for (const std::uint64_t hash : hash_rows(batch, site)) {
    Count& count = counts_.try_emplace(hash, Count{.tower = tower}).first->second;
    ++count.times;
    count.shared |= count.tower != tower;
    ++reads_[static_cast<std::size_t>(tower)];
  }
}

std::map<std::int64_t, std::int64_t> ExampleCensus::times() const {
  std::map<std::int64_t, std::int64_t> times;
  for (const auto& [hash, count] : counts_) ++times[count.times];
  return times;
}

std::int64_t ExampleCensus::shared() const {
  return std::count_if(counts_.begin(), counts_.end(),
                       [](const auto& entry) { return entry.second.shared; });
}

std::uint64_t ExampleCensus::fingerprint() const {
  std::uint64_t sum = 0;
  for (const auto& [hash, count] : counts_) {
    sum += mixed(hash + mixed(static_cast<std::uint64_t>(count.times)));
  }
  return sum;
}

std::string ExampleCensus::text() const {
  std::vector<std::string> often;
  const auto all = times();
  for (const auto& [times, examples] : all) {
    const std::string read = times == 1   ? "once"
                             : times == 2 ? "twice"
                                          : fmt::format("{} times", times);
    often.push_back(all.size() == 1 ? "each read " + read
                                    : fmt::format("{} read {}", grouped(examples), read));
  }
  std::vector<std::string> by;
  for (std::size_t tower = 0; tower < reads_.size(); ++tower) {
    by.push_back(fmt::format("by tower {}: {}", tower, grouped(reads_[tower])));
  }
  std::string text = fmt::format("{} examples", grouped(examples()));
  if (!often.empty()) text += fmt::format(", {}", fmt::join(often, ", "));
  text += fmt::format("; {}", fmt::join(by, ", "));
  if (shared() > 0) text += fmt::format("; {} by several towers", grouped(shared()));
  return text;
}

}  // namespace towerflow::parallel
