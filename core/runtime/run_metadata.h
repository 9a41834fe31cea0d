#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/lane.h"
#include "core/runtime/interleaving.h"

namespace towerflow {

class VirtualHost;

}  // namespace towerflow

namespace towerflow::types {

/// Options of one call of `run`. (tf.RunOptions)
struct RunOptions {
  enum TraceLevel { NO_TRACE = 0, FULL_TRACE = 3 };
  TraceLevel trace_level = NO_TRACE;
  /// Of several workers that run the same graph, each on an accelerator of its own: worker i takes
  /// /gpu:(i + k) for what asks for /gpu:k.
  int worker = 0;
  Interleaving* interleaving = nullptr;  ///< records or repeats the order of concurrent runs
  std::int64_t run = 0;                  ///< the number of the run in `interleaving`
  /// Of several workers on simulated accelerators: the run begins at the worker's virtual time and
  /// shares the host's core with the others. It needs a plan with one logical CPU.
  VirtualHost* virtual_host = nullptr;
};

/// One instruction of a traced run.
struct NodeStats {
  enum class Kind { kernel, copy, commit, wait };
  Kind kind = Kind::kernel;
  std::string node;    ///< the node that was run; for a copy, the node of the value
  std::string op;      ///< "Conv2D"; "" for a wait
  std::string loop;    ///< the loop that ran it, whose own time includes it; "" outside loops
  std::string label;   ///< the kernel: "oneDNN", "simd", "one pass"
  std::string device;  ///< full name
  Lane lane = Lane::compute;
  bool updates = false;                       ///< whether it changes variables
  double begin = 0, end = 0;                  ///< seconds since the run began, wall clock
  double virtual_begin = 0, virtual_end = 0;  ///< seconds since the run began, virtual clock
  double flops = 0;                           ///< floating-point operations
  double bytes = 0;  ///< least bytes read and written; for a copy, its size
};

/// The trace of a run. (tf.RunMetadata)
///
/// With simulated devices there are two clocks. On the wall clock all devices share this machine's
/// cores. On the virtual clock a kernel takes its time on one core times the slowdown of its
/// device, a copy takes the time given by bandwidth and latency, and the host has one core.
struct RunMetadata {
  /// Queue by queue, in order; then what each iteration of a loop ran.
  std::vector<NodeStats> nodes;
  bool simulated = false;
  double seconds = 0;  ///< the whole run, wall clock
  /// The whole run, virtual clock; 0 without simulated devices, or without a trace and VirtualHost.
  double virtual_seconds = 0;
  /// The most writes by other runs that a variable got between this run's first read and its write.
  std::int64_t staleness = 0;

  /// Returns the trace in the format of chrome://tracing and Perfetto; on the virtual clock if
  /// `simulated`. (tensorflow.python.client.timeline)
  std::string chrome_trace() const;
};

}  // namespace towerflow::types
