#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/step_bench.h"

namespace towerflow::models {

/// How the towers of a benchmark share variables: --variable_update of tf_cnn_benchmarks.
enum class VariableUpdate {
  independent,             ///< not at all: each has variables of its own; the most that is possible
  parameter_server,        ///< the variables live in host memory, which updates them
  replicated,              ///< each accelerator has copies, which it updates itself
  distributed_all_reduce,  ///< replicated in the processes of mpirun, which average gradients
  async,                   ///< each tower updates the variables of host memory, without waiting
};

/// Returns the words of --variable-update, in the order of the enumeration.
const std::vector<std::string>& variable_update_words();
/// Throws ValueError for another word.
VariableUpdate variable_update(const std::string& word);

/// One step of all towers.
struct UpdateStep {
  double seconds = 0;
  double loss = 0;
};

/// Times the steps of a model on towers that share variables in one of these ways, on data in
/// memory. On simulated accelerators times are virtual.
class UpdateBench {
 public:
  /// `options.num_towers` towers in this process. Towers that share nothing, or that do not wait
  /// for each other, can neither defer gradients nor stage variables: ValueError.
  static std::unique_ptr<UpdateBench> make(VariableUpdate update, const Model& model,
                                           const StepBenchOptions& options);
  virtual ~UpdateBench() = default;

  /// Runs `count` steps of all towers.
  virtual std::vector<UpdateStep> steps(int count) = 0;
  /// Returns what else there is to say, such as the mean staleness; empty if nothing.
  virtual std::string remark() const { return {}; }
};

}  // namespace towerflow::models
