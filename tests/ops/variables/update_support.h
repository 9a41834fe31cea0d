#pragma once

#include <functional>
#include <memory>

#include "tests/ops/nn/support.h"
#include "towerflow/towerflow.h"

/// Steps of every optimizer with and without rewrites, for tests of fused updates.
namespace towerflow::testing {

/// An optimizer, and the suffix of its Apply op's name.
struct Rule {
  const char* op;
  std::function<std::unique_ptr<train::Optimizer>(DType)> optimizer;  ///< for variables of it
};
template <class O, class... Options>
Rule rule(const char* op, Options... options) {
  return {op, [=](DType) { return std::make_unique<O>(options...); }};
}
/// The proximal optimizers need numbers of the variable's dtype.
inline Tensor number_of(double value, DType dtype) { return constant(value, {.dtype = dtype}); }
inline const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      rule<train::GradientDescentOptimizer>("GradientDescent", 0.1),
      rule<train::MomentumOptimizer>("Momentum", 0.1, 0.9),
      rule<train::MomentumOptimizer>("Momentum", 0.1, 0.9,
                                     train::MomentumOptions{.use_nesterov = true}),
      rule<train::AdamOptimizer>("Adam", 0.1),
      rule<train::AdagradOptimizer>("Adagrad", 0.1),
      rule<train::RMSPropOptimizer>("RMSProp", 0.1, train::RMSPropOptions{.momentum = 0.5}),
      rule<train::RMSPropOptimizer>("CenteredRMSProp", 0.1,
                                    train::RMSPropOptions{.momentum = 0.5, .centered = true}),
      rule<train::AdadeltaOptimizer>("Adadelta", 0.5),
      {"AdagradDA",
       [](DType) {
         return std::make_unique<train::AdagradDAOptimizer>(
             0.1, constant(3, {.dtype = DType::int64}),
             train::AdagradDAOptions{.l1_regularization_strength = 0.05});
       }},
      rule<train::FtrlOptimizer>("Ftrl", 0.1,
                                 train::FtrlOptions{.l1_regularization_strength = 0.05}),
      rule<train::FtrlOptimizer>("FtrlV2", 0.1,
                                 train::FtrlOptions{.learning_rate_power = -0.75,
                                                    .l2_shrinkage_regularization_strength = 0.1}),
      {"ProximalGradientDescent",
       [](DType dtype) {
         return std::make_unique<train::ProximalGradientDescentOptimizer>(
             number_of(0.1, dtype), train::ProximalGradientDescentOptions{
                                        .l1_regularization_strength = number_of(0.05, dtype),
                                        .l2_regularization_strength = number_of(0.2, dtype)});
       }},
      {"ProximalAdagrad", [](DType dtype) {
         return std::make_unique<train::ProximalAdagradOptimizer>(
             number_of(0.1, dtype),
             train::ProximalAdagradOptions{.l1_regularization_strength = number_of(0.05, dtype),
                                           .l2_regularization_strength = number_of(0.2, dtype)});
       }}};
  return all;
}

inline ConfigProto with_fusion(bool fused) {
  ConfigProto config = no_folding_config();
  config.passes.skipped_rewrites = {"layers"};
  if (!fused) config.passes.skipped_rewrites.insert("updates");
  return config;
}

struct RunResult {
  std::vector<Array> values;
  std::string report;
};

/// Runs three steps, with the rewrites if `fused`.
inline RunResult train_steps(const Rule& rule, const Array& start,
                             const std::function<Gradient()>& gradient, bool fused) {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(start);
  const auto optimizer = rule.optimizer(start.dtype());
  const Operation update = optimizer->apply_gradients({{gradient(), w}});
  Session session(graph, with_fusion(fused));
  session.run(global_variables_initializer());
  for (int step = 0; step < 3; ++step) session.run(update);
  std::vector<Fetch> kept{w};
  for (const Variable& slot : optimizer->variables()) kept.emplace_back(slot);
  return {session.run(kept), session.plan_report(std::vector<Fetch>{update})};
}

inline bool contains(const std::string& report, const std::string& part) {
  return report.find(part) != std::string::npos;
}

}  // namespace towerflow::testing
