#include "core/device/cuda_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "core/device/backend.h"
#include "core/device/option_parts.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

/// Parses a whole number that may end in K, M or G.
std::uint64_t parse_whole(std::string_view part, std::string_view text) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (error != std::errc{} || (shift == 0 && !unit.empty()) ||
      number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    throw ValueError(fmt::format("'{}' of CUDA: wanted a whole number, with K, M or G", part));
  }
  return number << shift;
}

int parse_count(std::string_view device, std::string_view text) {
  int count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || stop != text.data() + text.size() || count < 1) {
    throw ValueError(fmt::format("{}{}: wanted a number of devices", device, text));
  }
  return count;
}

bool parse_switch(std::string_view part, std::string_view key, std::string_view value) {
  if (value != "on" && value != "off") {
    throw ValueError(fmt::format("'{}' of CUDA: wanted {}=on or {}=off", part, key, key));
  }
  return value == "on";
}

}  // namespace

void check(const CudaDevices& options) {
  constexpr int kMost = 64;
  if (options.count < 0 || options.count > kMost) {
    throw ValueError(fmt::format("a count from 0 to {} of GPUs, got {}", kMost, options.count));
  }
  if (options.share < 1 || options.count % options.share != 0) {
    throw ValueError(fmt::format("{} GPUs cannot be dealt to cards with {} on each", options.count,
                                 options.share));
  }
  if (options.memory < std::size_t{1} << 20 || options.memory > std::size_t{1} << 40) {
    throw ValueError(
        fmt::format("a memory from 1 MiB to 1 TiB of an emulated GPU, got {}", options.memory));
  }
  if (options.max_delay_us > 1'000'000) {
    throw ValueError(
        fmt::format("a delay of at most 1 s of an emulated GPU, got {} us", options.max_delay_us));
  }
}

CudaDevices parse_cuda_devices(std::string_view text) {
  constexpr std::string_view kEmulated = "cuda-host:", kReal = "cuda:";
  CudaDevices options;
  options.emulated = text.starts_with(kEmulated);
  const std::string_view device = options.emulated ? kEmulated : kReal;
  if (!text.starts_with(device)) {
    throw ValueError(fmt::format("'{}': wanted cuda:N or cuda-host:N", text));
  }
  text.remove_prefix(device.size());
  const std::string_view count = text.substr(0, text.find(','));
  options.count = parse_count(device, count);
  text.remove_prefix(count.size());
  for_each_option_part(
      text, [&](std::string_view part, std::string_view key, std::string_view value) {
        if (key == "graphs") {
          options.graphs = parse_switch(part, key, value);
        } else if (key == "share") {
          options.share = parse_count("share=", value);
        } else if (key == "limit") {
          options.limit = parse_whole(part, value);
        } else if (key == "plans") {
          if (value.empty()) throw ValueError("'plans=' of CUDA: wanted the name of a file");
          options.plans = value;
        } else if (key == "tune") {
          options.tune = parse_switch(part, key, value);
        } else if (!options.emulated) {
          throw ValueError(fmt::format("'{}' of {}{}: it has graphs, share, limit, plans, tune",
                                       part, device, count));
        } else if (key == "memory") {
          options.memory = parse_whole(part, value);
        } else if (key == "seed") {
          options.seed = parse_whole(part, value);
        } else if (key == "delay") {
          options.max_delay_us = static_cast<unsigned>(std::min<std::uint64_t>(
              parse_whole(part, value), std::numeric_limits<unsigned>::max()));
        } else {
          throw ValueError(fmt::format(
              "'{}' of an emulated GPU: it has graphs, share, limit, plans, tune, memory, seed, "
              "delay",
              part));
        }
      });
  check(options);
  return options;
}

}  // namespace towerflow
