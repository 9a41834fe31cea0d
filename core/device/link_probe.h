#pragma once

#include <string>
#include <vector>

#include "core/device/config.h"

namespace towerflow {

/// What copies from one GPU of a session to another showed.
struct LinkProbe {
  std::string from, to;         ///< "/device:GPU:0"
  std::string way;              ///< "on one card", "between cards", "through the host"
  double bytes_per_second = 0;  ///< 0 if something is wrong
  std::string wrong;            ///< what is wrong; empty: all bytes arrived in time
};

/// Copies between all pairs of the GPUs that `config` asks for, one after another, and compares the
/// bytes. A copy that takes longer than `seconds` is given up; the process should end then. Defined
/// in cuda/backend, a layer above this one. Throws what make_cuda_backend does.
std::vector<LinkProbe> probe_cuda_links(const ConfigProto& config, double seconds);

}  // namespace towerflow
