#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/graph/lane.h"

namespace towerflow::types {

/// How one call of `run` is made. (tf.RunOptions)
struct RunOptions {
  enum TraceLevel { NO_TRACE = 0, FULL_TRACE = 3 };
  TraceLevel trace_level = NO_TRACE;
};

/// One instruction of a traced run.
struct NodeStats {
  enum class Kind { kernel, copy, commit, wait };
  Kind kind = Kind::kernel;
  std::string node;    ///< whose work it was; of a copy, whose value
  std::string op;      ///< "Conv2D"; "" of a wait
  std::string label;   ///< which kernel: "oneDNN", "simd", "one pass"
  std::string device;  ///< full name
  Lane lane = Lane::compute;
  bool updates = false;                       ///< changes variables
  double begin = 0, end = 0;                  ///< seconds since the run began, wall clock
  double virtual_begin = 0, virtual_end = 0;  ///< seconds since then on the virtual clock
  double flops = 0;                           ///< floating-point operations
  double bytes = 0;                           ///< read and written at least; of a copy, moved
};

/// What a traced run did. (tf.RunMetadata)
///
/// With simulated devices there are two clocks: wall time, in which this machine's cores are shared
/// by all devices, and virtual time, in which a kernel takes what it costs one core, times the
/// slow-down of its device, and a copy what bandwidth and latency say. The virtual clock has one
/// core for the host.
struct RunMetadata {
  std::vector<NodeStats> nodes;  ///< queue by queue, in order
  bool simulated = false;
  double seconds = 0;          ///< the whole run, wall clock
  double virtual_seconds = 0;  ///< the whole run, virtual clock; 0 without simulated devices

  /// The run as chrome://tracing and Perfetto show it; the virtual clock when `simulated`.
  /// (tensorflow.python.client.timeline)
  std::string chrome_trace() const;
};

}  // namespace towerflow::types
