// The file of `towerflow tune`.
#include "cuda/backend/plan_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/graph/error.h"
#include "data/file.h"

namespace towerflow {
namespace {

using Json = nlohmann::ordered_json;

/// Reads one file, and says in errors where in it they are.
class PlanReader {
 public:
  explicit PlanReader(const std::string& path) : path_(path) {}

  std::vector<ConvolutionPlan> read() {
    constexpr std::uint64_t kMostBytes = 16 << 20;
    check_regular_file(path_);
    const Json all = Json::parse(read_file(path_, kMostBytes), nullptr, false);
    if (!all.is_object()) fail("it is no JSON object");
    std::vector<ConvolutionPlan> plans;
    for (const auto& device : all.items()) {
      if (!device.value().is_object()) fail(fmt::format("'{}' is no object", device.key()));
      for (const auto& entry : device.value().items()) {
        plans.push_back(plan(device.key(), entry.key(), entry.value()));
      }
    }
    return plans;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw errors::DataLossError(fmt::format("'{}' is no table of plans: {}", path_, why),
                                {.hint = "remove it and run 'towerflow tune' again"});
  }

  ConvolutionPlan plan(const std::string& device, const std::string& convolution,
                       const Json& entry) const {
    if (!entry.is_object()) fail(fmt::format("'{}' is no object", convolution));
    ConvolutionPlan made{.device = device, .convolution = convolution};
    made.engine = whole(convolution, entry, "engine");
    made.timed = whole(convolution, entry, "timed");
    made.milliseconds = time(convolution, entry, "milliseconds");
    made.first_milliseconds = time(convolution, entry, "first_milliseconds");
    if (!entry.contains("knobs") || !entry["knobs"].is_object()) missing(convolution, "knobs");
    const Json& knobs = entry["knobs"];
    for (const auto& knob : knobs.items()) {
      const std::string& text = knob.key();
      std::int64_t type = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), type);
      if (error != std::errc{} || stop != text.data() + text.size()) {
        fail(fmt::format("'{}' has the knob '{}', which is no number", convolution, text));
      }
      made.knobs[type] = whole(convolution, knobs, text);
    }
    return made;
  }

  std::int64_t whole(const std::string& convolution, const Json& in, const std::string& key) const {
    const bool is_whole = in.contains(key) && in[key].is_number_integer();
    const bool is_large = is_whole && in[key].is_number_unsigned() &&
                          in[key].get<std::uint64_t>() > std::uint64_t{INT64_MAX};
    if (!is_whole || is_large) missing(convolution, key);
    return in[key].get<std::int64_t>();
  }
  double time(const std::string& convolution, const Json& in, const std::string& key) const {
    if (!in.contains(key) || !in[key].is_number() || !(in[key].get<double>() >= 0)) {
      missing(convolution, key);
    }
    return in[key].get<double>();
  }
  [[noreturn]] void missing(const std::string& convolution, const std::string& key) const {
    fail(fmt::format("'{}' has no valid \"{}\"", convolution, key));
  }

  const std::string& path_;
};

/// Returns milliseconds to the nearest 100 ns, which is less than two measurements differ by.
double rounded(double milliseconds) { return std::round(milliseconds * 1e4) / 1e4; }

}  // namespace

std::vector<ConvolutionPlan> read_convolution_plans(const std::string& path) {
  return PlanReader(path).read();
}

namespace cuda {

void write_convolution_plans(const std::string& path, const std::vector<ConvolutionPlan>& plans) {
  Json all = Json::object();
  for (const ConvolutionPlan& plan : plans) {
    Json knobs = Json::object();
    for (const auto& [type, value] : plan.knobs) knobs[std::to_string(type)] = value;
    all[plan.device][plan.convolution] = {{"engine", plan.engine},
                                          {"knobs", std::move(knobs)},
                                          {"milliseconds", rounded(plan.milliseconds)},
                                          {"first_milliseconds", rounded(plan.first_milliseconds)},
                                          {"timed", plan.timed}};
  }
  AtomicFile file(path);
  file.append(all.dump(1) + "\n");
  file.commit();
}

}  // namespace cuda
}  // namespace towerflow
