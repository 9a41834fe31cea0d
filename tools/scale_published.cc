// `towerflow scale published`: the simulation beside curves that others measured.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/file.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/scale.h"

namespace towerflow::tools {
namespace {

constexpr const char* kPublishedHelp =
    "Simulates the machines on which TensorFlow and Horovod were measured. Each curve is fed with\n"
    "the published rate of one card, the sizes of the network's weights, and speeds from data\n"
    "sheets; docs/scale.md lists them. Points that are not reproduced within 10 % are marked.\n"
    "\n"
    "Example: towerflow scale published --svg published.svg";

struct PublishedArguments {
  std::string picture;
  bool json = false;
};

/// Returns whether a curve belongs to the picture: those of several hosts.
bool is_drawn(const report::PublishedCurve& curve) { return curve.points.back().towers > 16; }

void show_published(const PublishedArguments& arguments) {
  std::unique_ptr<AtomicFile> picture;
  if (!arguments.picture.empty()) picture = std::make_unique<AtomicFile>(arguments.picture);
  const std::vector<report::PublishedCurve> all = report::published_curves();
  Progress progress("simulating");
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<report::ScaleCurve> drawn;
  std::vector<std::vector<report::PublishedPoint>> points;
  std::string text;
  int near = 0, total = 0;
  for (const report::PublishedCurve& published : all) {
    report::ScaleCurve curve{published.name, published.profile.examples, {}, {}};
    for (const report::PublishedPoint& point : published.points) {
      curve.towers.push_back(point.towers);
      curve.results.push_back(report::simulate_step(published.profile, published.cluster,
                                                    published.options, point.towers));
      const double rate = curve.rate(curve.towers.size() - 1);
      near += std::abs(rate / point.examples_per_second - 1) <= 0.1 ? 1 : 0;
      ++total;
      json.push_back({{"curve", published.name},
                      {"towers", point.towers},
                      {"published", point.examples_per_second},
                      {"simulated", rate},
                      {"differs", point.differs}});
    }
    text += report::published_table(published, curve);
    progress.update(static_cast<std::int64_t>(json.size()),
                    2 * static_cast<std::int64_t>(all.size()));
    if (!is_drawn(published)) continue;
    drawn.push_back(std::move(curve));
    points.push_back(published.points);
  }
  progress.finish();
  fmt::print("{}{} of {} points are within 10 %\n", text, near, total);
  if (picture) {
    picture->append(
        report::curve_picture("Simulated (lines) and published (circles) rates", drawn, points));
    picture->commit();
  }
  if (arguments.json) fmt::print("{}\n", json_line(json));
}

}  // namespace

void add_scale_published(CLI::App& parent) {
  CLI::App& app =
      add_subcommand(parent, "published", "curves that others have measured", kPublishedHelp);
  const auto arguments = std::make_shared<PublishedArguments>();
  add_text(app, "--svg", arguments->picture, "draw the curves of several hosts to FILE",
           {.type = "FILE"});
  add_json(app, arguments->json);
  set_action(app, [arguments] { show_published(*arguments); });
}

}  // namespace towerflow::tools
