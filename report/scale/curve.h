#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/scale/published.h"
#include "report/scale/simulate.h"

namespace towerflow::report {

/// A strategy simulated on ever more towers.
struct ScaleCurve {
  std::string name;
  double examples = 0;  ///< of a tower in a step
  std::vector<int> towers;
  std::vector<ScaleResult> results;  ///< for each number of towers

  double rate(std::size_t i) const { return towers[i] * examples / results[i].step; }
};

/// Parses numbers of towers: "8", "8,16,24", or "8..1024" for 8, 16, 32, .., 1024; the last is
/// always one of them. Throws ValueError that says what is wanted.
std::vector<int> parse_tower_counts(std::string_view text);

/// Returns a table of the curves: rates, efficiency, what travels, what of it is hidden, and what
/// bounds the step.
std::string curve_table(const std::vector<ScaleCurve>& curves);

/// Returns a table that compares a published curve with the simulation.
std::string published_table(const PublishedCurve& published, const ScaleCurve& simulated);

/// Draws curves as an SVG picture: examples per second and efficiency by towers. Published points
/// are drawn as circles in the colour of the curve with the same number.
std::string curve_picture(const std::string& title, const std::vector<ScaleCurve>& curves,
                          const std::vector<std::vector<PublishedPoint>>& published = {});

}  // namespace towerflow::report
