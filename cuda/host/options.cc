#include "cuda/host/options.h"

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>

namespace towerflow::cuda::host {
namespace {

/// Reads a number that may end in K, M or G.
std::uint64_t parse_number(std::string_view option, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (error != std::errc() || (shift == 0 && !unit.empty()) ||
      number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    throw std::invalid_argument("the emulation of CUDA got \"" + std::string(option) +
                                "\", whose value is no number");
  }
  return number << shift;
}

void set_option(Options& options, std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if (equals == std::string_view::npos) {
    throw std::invalid_argument("the emulation of CUDA got \"" + std::string(option) +
                                "\", which is not of the form name=value");
  }
  const std::uint64_t value = parse_number(option, option.substr(equals + 1));
  if (name == "devices") {
    constexpr std::uint64_t kMostDevices = 64;
    if (value > kMostDevices) {
      throw std::invalid_argument("the emulation of CUDA has at most 64 devices, got " +
                                  std::to_string(value));
    }
    options.devices = static_cast<int>(value);
  } else if (name == "memory") {
    options.memory = value;
  } else if (name == "peer_access") {
    options.peer_access = value != 0;
  } else if (name == "seed") {
    options.seed = value;
  } else if (name == "max_delay") {
    options.max_delay = static_cast<unsigned>(value);
  } else {
    throw std::invalid_argument("the emulation of CUDA has no option \"" + std::string(name) +
                                "\", only devices, memory, peer_access, seed and max_delay");
  }
}

}  // namespace

Options parse_options(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    set_option(options, text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return options;
}

}  // namespace towerflow::cuda::host
