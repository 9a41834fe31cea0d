#include "core/device/visible_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/graph/error.h"

namespace towerflow {

std::vector<int> visible_devices(const std::string& list, int count, const char* what) {
  if (list.empty()) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (count == 0) {
    throw ValueError(
        fmt::format("visible_device_list '{}': the session has no {}", list, what),
        {.hint = "ConfigProto::simulated or ConfigProto::cuda, or --devices of the command, makes "
                 "some"});
  }
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    int number = -1;
    const auto [stop, error] = std::from_chars(list.data() + at, list.data() + comma, number);
    if (error != std::errc{} || stop != list.data() + comma || number < 0 || number >= count) {
      throw ValueError(
          fmt::format("visible_device_list '{}': '{}' is not the number of one of the {} {}", list,
                      list.substr(at, comma - at), count, what));
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      throw ValueError(fmt::format("visible_device_list '{}' names {} twice", list, number));
    }
    numbers.push_back(number);
    at = comma + 1;
  }
  return numbers;
}

}  // namespace towerflow
