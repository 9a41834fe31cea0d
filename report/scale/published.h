#pragma once

#include <string>
#include <vector>

#include "report/scale/simulate.h"

namespace towerflow::report {

/// A rate that somebody measured.
struct PublishedPoint {
  int towers = 0;
  double examples_per_second = 0;
  bool differs = false;  ///< whether the simulation is further than 10 % from it
};

/// A published curve, and the facts that the simulation is fed with.
struct PublishedCurve {
  std::string name;    ///< "Inception v3, DGX-1"
  std::string source;  ///< where the rates stand
  StepProfile profile;
  Cluster cluster;
  ScaleOptions options;
  std::vector<PublishedPoint> points;
  std::string differs;  ///< why the simulation is further away from some points; "" if from none
};

/// Returns all curves. Each is fed with the published rate of one tower, the sizes of the network's
/// weights, and rates and latencies of the hardware; nothing is fitted to a curve.
std::vector<PublishedCurve> published_curves();

}  // namespace towerflow::report
