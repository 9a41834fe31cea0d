// Random reads and writes of variables give the same values wherever the variables live.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/core/runtime/other_accelerator.h"
#include "tests/core/runtime/two_towers.h"

using namespace towerflow;
using testing::missing_kernels;
using testing::simulated;
using testing::with_other_accelerators;

namespace {

constexpr VariableHome kHomes[] = {VariableHome::host, VariableHome::device,
                                   VariableHome::mirrored};

/// A random program that reads and writes three variables on three devices.
struct RandomProgram {
  RandomProgram(unsigned seed, const std::string& type) : random(seed) {
    const auto guard = graph.as_default();
    for (int i = 0; i < 3; ++i) {
      const auto place = tf::device(device_of(type));
      variables.push_back(tf::get_variable(
          "v" + std::to_string(i), {3},
          {.initializer = tf::constant_initializer(i + 1.0), .home = kHomes[draw(3)]}));
      known.push_back(variables.back().value());
    }
    init = tf::global_variables_initializer();
    for (int i = 0; i < 14; ++i) add(type);
    for (const Tensor& tensor : known) fetches.emplace_back(tensor);
    for (const Variable& variable : variables) fetches.emplace_back(variable);
    std::shuffle(fetches.begin(), fetches.end(), random);
    fetches.erase(fetches.begin() + 6, fetches.end());
  }

  std::vector<Array> results(const ConfigProto& config) {
    Session session(graph, config);
    session.run(init);
    std::vector<Array> all;
    for (int run = 0; run < 2; ++run) {
      for (Array& value : session.run(fetches)) all.push_back(std::move(value));
      for (const Variable& variable : variables) all.push_back(session.run(variable));
    }
    return all;
  }

  Graph graph;
  std::mt19937 random;
  std::vector<Variable> variables;
  std::vector<Tensor> known;
  std::vector<Fetch> fetches;
  Operation init;

 private:
  int draw(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  template <class T>
  const T& any(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(draw(static_cast<int>(from.size())))];
  }
  std::string device_of(const std::string& type) {
    const int device = draw(3);
    return device == 2 ? "/cpu:0" : "/device:" + type + ":" + std::to_string(device);
  }

  void add(const std::string& type) {
    const auto place = tf::device(device_of(type));
    std::optional<ControlDependencies> after;
    if (draw(2) == 0) after.emplace(graph, std::vector<Node*>{&any(known).op().node()});
    const Variable& variable = any(variables);
    const Tensor operand = any(known);
    switch (draw(7)) {
      case 0:
        known.push_back(variable * 2.0F + operand);
        break;
      case 1:
        known.push_back(variable.read_value());
        break;
      case 2:
        known.push_back(tf::reshape(variable, {3, 1}) * tf::ones({3, 1}));
        known.back() = tf::reshape(known.back(), {3});
        break;
      case 3:
        known.push_back(tf::assign_add(variable, operand * 0.5F));
        break;
      case 4:
        known.push_back(tf::assign(variable, tf::tanh(operand)));
        break;
      case 5:
        known.push_back(tf::scatter_sub(variable, {0, 2}, tf::slice(operand, {0}, {2})));
        break;
      default:
        known.push_back(tf::assign_sub(variable, variable * 0.25F));
    }
  }
};

}  // namespace

TEST_CASE("any reads and writes of variables, wherever they live, are those of a CPU") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomProgram program(seed, "GPU");
    const auto expected = program.results({.allow_soft_placement = true});
    for (const int count : {1, 2}) {
      CAPTURE(count);
      const auto found =
          program.results(simulated({.count = count, .latency = 0, .jitter = 20e-6}));
      CHECK(found == expected);
    }
    missing_kernels = {"AssignAdd", "ScatterSub"};
    RandomProgram other(seed, "OTHER");
    CHECK(other.results(with_other_accelerators(2)) == expected);
    missing_kernels.clear();
  }
}
