#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/session.h"
#include "report/array_distance.h"
#include "train/optimizer.h"

namespace towerflow::types {

/// One of two ways of training to compare: a step, and the session that runs it.
struct ComparedRun {
  std::vector<Fetch> step;  ///< what a step runs: the train op, losses
  ConfigProto config{};
  /// Returns the feeds of a step, which are counted from 1; none if not set.
  std::function<Feeds(int step)> feeds{};
  std::vector<GradAndVar> grads{};  ///< what the step applies, such as Towers::grads
  int num_towers = 1;
  std::string tower = "tower";  ///< prefix of the towers' name scopes
};

struct CompareOptions {
  int steps = 1;
  /// Most bytes that a run fetches of each side when it looks for the first value that differs.
  std::size_t bytes = std::size_t{1} << 28;
};

/// The first value that differs in a step.
struct DifferentValue {
  std::string name;  ///< "tower_0/conv1/Conv2D:0", "the gradient of w:0", "w:0"
  std::string op;    ///< "Conv2D"
  Site site{};       ///< where the op was made
  DType dtype = DType::invalid;
  Shape shape{};        ///< over all towers if it was joined
  bool joined = false;  ///< whether the towers of each side were joined
  ArrayDistance distance{};
  std::string a, b;                         ///< the elements that are farthest apart
  std::optional<int> tower_a{}, tower_b{};  ///< the towers that computed these
  /// The op's inputs, and whether each was compared; those that were are equal.
  std::vector<std::pair<std::string, bool>> inputs{};
  std::size_t equal_before = 0;  ///< values that come before it on the tape and are equal
  /// Whether the variables after this step had the same bits as without fetching its values, on
  /// both sides. If not, fetching changed the kernels of the plans, and with them the numbers.
  bool as_without_fetches = false;
};

struct DifferentVariable {
  std::string name;
  ArrayDistance distance{};
};

/// What `compare` finds.
struct Comparison {
  int steps = 0;
  std::size_t variables = 0;  ///< that both sides have, compared after each step
  std::size_t losses = 0;     ///< fetched tensors that were compared in each step
  /// Variables that were not compared: those of one side, or of other shapes.
  std::vector<std::string> only_a, only_b;
  int first_step = 0;  ///< the first step after which they differ, counted from 1; 0: none
  std::optional<DifferentValue> first;   ///< in that step
  std::vector<DifferentVariable> after;  ///< the variables that differ after the last step

  bool equal() const { return first_step == 0; }
  /// Describes all of this in some lines.
  std::string text() const;
};

}  // namespace towerflow::types

namespace towerflow {

/// Runs two configurations of a training side by side and finds the first value that differs: by
/// default between the towers, devices and passes of two graphs.
///
/// Both sides get the initial values of `a`, by the names of the variables; the programs must give
/// both the same examples. The steps run as they would without a comparison, and after each the
/// variables, slots included, are compared bit for bit, with the fetched tensors if both sides have
/// as many towers. If they differ, a second run of the first such step also fetches what its
/// operations compute (report/counterparts.h says what is comparable), and the first value that
/// differs in tape order is reported. Fetches keep the planner from fusing operations, so that a
/// kernel may differ from that of the step alone; whether this changed a number is checked.
/// Both graphs need a seed for a second run to draw the same random numbers.
///
/// errors   ValueError: a step without fetches or less than one step; what a run of the steps
/// throws
Comparison compare(const ComparedRun& a, const ComparedRun& b, const CompareOptions& options = {});

}  // namespace towerflow
