#include "core/graph/device_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "core/graph/error.h"

namespace towerflow {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

/// Parses any integer, as TensorFlow does; a run checks whether the device exists.
int number_of(std::string_view digits, std::string_view text, Site site) {
  int value = 0;
  std::string_view bare = digits;
  if (bare.size() > 1 && bare[0] == '+' && bare[1] != '-') bare.remove_prefix(1);
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), value);
  if (error != std::errc{} || end != bare.data() + bare.size()) {
    throw ValueError(fmt::format("'{}' is not a number in device '{}'", digits, text),
                     {.site = site, .hint = "write it as in \"/gpu:0\" or \"/job:a/task:1\""});
  }
  return value;
}

/// Returns whether a device type may be written without "device:".
bool known_type(std::string_view type) {
  return type == "CPU" || type == "GPU" || type == "TPU" || type == "CUSTOM" || type == "EPU";
}

/// Parses the index of a device part; "*" means any.
std::optional<int> device_index(std::string_view digits, std::string_view text, Site site) {
  if (digits == "*") return std::nullopt;
  return number_of(digits, text, site);
}

}  // namespace

DeviceSpec DeviceSpec::parse(std::string_view text, Site site) {
  DeviceSpec spec;
  const auto set_type = [&](std::string given) {
    if (spec.type) {
      throw ValueError(fmt::format("Multiple device types are not allowed while parsing the "
                                   "device spec: {}.",
                                   text),
                       {.site = site});
    }
    spec.type = std::move(given);
  };
  for (std::string_view part : split_at(text, '/')) {
    const auto words = split_at(part, ':');
    const std::size_t count = words.size();
    if (words[0].empty()) continue;
    if (count == 2 && words[0] == "job") {
      spec.job = std::string(words[1]);
    } else if (count == 2 && words[0] == "replica") {
      spec.replica = number_of(words[1], text, site);
    } else if (count == 2 && words[0] == "task") {
      spec.task = number_of(words[1], text, site);
    } else if (count == 3 && words[0] == "device") {
      const bool lower = words[1] == "cpu" || words[1] == "gpu";
      set_type(lower ? upper(words[1]) : std::string(words[1]));
      spec.index = device_index(words[2], text, site);
    } else if (count <= 2 && known_type(upper(words[0]))) {
      set_type(upper(words[0]));
      if (count == 2) spec.index = device_index(words[1], text, site);
    } else {
      throw ValueError(fmt::format("Unknown attribute '{}' is encountered while parsing the device "
                                   "spec: '{}'.",
                                   words[0], text),
                       {.site = site, .hint = "write \"/cpu:0\", \"/gpu:1\" or \"/device:GPU:1\""});
    }
  }
  return spec;
}

DeviceSpec DeviceSpec::merged(const DeviceSpec& inner) const {
  DeviceSpec out = *this;
  if (inner.job) out.job = inner.job;
  if (inner.replica) out.replica = inner.replica;
  if (inner.task) out.task = inner.task;
  if (inner.type) out.type = inner.type;
  if (inner.index) out.index = inner.index;
  return out;
}

std::string DeviceSpec::text() const {
  std::string out;
  if (job) out += fmt::format("/job:{}", *job);
  if (replica) out += fmt::format("/replica:{}", *replica);
  if (task) out += fmt::format("/task:{}", *task);
  if (type) {
    out += fmt::format("/device:{}:{}", *type, index ? fmt::format("{}", *index) : "*");
  }
  return out;
}

}  // namespace towerflow
