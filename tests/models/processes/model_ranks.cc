// Trains a model of the contract in one process or under mpirun: `model_ranks MODEL STEPS FOLDER`.
// One process trains all towers and saves the variables before and after the steps in FOLDER.
// Several processes share the towers, start from the saved values, and each prints how far its
// variables are from the values after the steps.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/models/contract_models.h"

using namespace towerflow;

namespace {

constexpr int kTowers = 4;

std::vector<Array> variables_now(Session& session, const std::vector<Variable>& variables) {
  return session.run(std::vector<Fetch>(variables.begin(), variables.end()));
}

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  }
  return true;
}

void train_model(const std::string& model, int steps, const std::string& folder) {
  auto& group = parallel::process_group();
  tf::set_random_seed(11);
  const int count = kTowers / group.size();
  const auto averaged = tf::train::transform_gradients(
      [](const std::vector<GradAndVar>& grads) { return parallel::all_reduce(grads); });
  const testing::Step step = testing::kContractModels.at(model)(
      {.first = group.rank() * count, .count = count, .all = kTowers});
  // Moving averages of batch normalisation belong to each process; those of process 0 count.
  const auto compared = group.rank() == 0 ? tf::global_variables() : tf::trainable_variables();
  tf::train::Saver saver;
  Session session({.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  const std::string before = folder + "/before", after = folder + "/after";
  const bool alone = group.size() == 1;
  if (alone) {
    saver.save(session, before);
  } else {
    if (group.rank() == 0) saver.restore(session, before);
    parallel::broadcast_global_variables(session);
  }
  for (int i = 0; i < steps; ++i) session.run(step.fetches, step.feeds);
  if (alone) {
    saver.save(session, after);
    return;
  }
  const auto found = variables_now(session, compared);
  saver.restore(session, after);
  const auto expected = variables_now(session, compared);
  const std::string line =
      same_bits(found, expected)
          ? "equal"
          : fmt::format("{:.3g}", testing::largest_difference(found, expected));
  std::fputs((line + "\n").c_str(), stdout);
}

}  // namespace

int main(int, char** argv) {
  try {
    train_model(argv[1], std::atoi(argv[2]), argv[3]);
  } catch (const std::exception& error) {
    parallel::process_group().abort(error.what());
  }
  return 0;
}
