// Times the cases that have operands for timing, for bench/compare_ops.py.
//
//   bench_ops [small | middle] --list    prints one JSON line per case: name, python, dtype,
//                                        gradients, inputs
//   bench_ops [small | middle]           prints "ready", then reads lines "CASE PART STEPS" from
//   standard input,
//                       where CASE is a case's number and PART is 0 for the call or 1 for its
//                       gradients. Answers each with a JSON line: us, the microseconds per run
//                       (null if there is nothing to time), and gb_per_second, the bytes of
//                       operands and results over that time. Ends on "quit".
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/ops/cases/op_case.h"
#include "towerflow/tf.h"

using namespace towerflow;
using nlohmann::json;
using testing::CaseGradients;
using testing::OpCase;

namespace {

std::vector<const OpCase*> timed_cases() {
  std::vector<const OpCase*> timed;
  for (const OpCase& one : testing::op_cases()) {
    if (!one.large.empty() && !one.python.empty()) timed.push_back(&one);
  }
  return timed;
}

DType timed_dtype(const OpCase& one) { return one.dtypes.front(); }

using Operands = std::vector<testing::CaseInput>;

/// Returns operands of which one size is a sixteenth of that for timing: the first of each operand
/// that has the first operand's first size, that of the first operand alone, or every such size.
std::vector<Operands> middle_operands(const OpCase& one) {
  std::vector<Operands> candidates;
  if (one.large.empty() || one.large[0].shape.rank() == 0) return candidates;
  const std::int64_t size = one.large[0].shape.size(0);
  for (const int way : {0, 1, 2}) {
    Operands operands = one.large;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::vector<std::int64_t> sizes = operands[i].shape.sizes();
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        const bool shrinks = way == 2 || (d == 0 && (way == 0 || i == 0));
        if (shrinks && sizes[d] == size) sizes[d] = std::max<std::int64_t>(1, size / 16);
      }
      operands[i].shape = Shape{std::span<const std::int64_t>(sizes)};
    }
    candidates.push_back(std::move(operands));
  }
  return candidates;
}

json described(const OpCase& one, const Operands& operands) {
  json inputs = json::array();
  for (const testing::CaseInput& input : operands) {
    inputs.push_back(
        {{"shape", input.shape.sizes()},
         {"low", input.low},
         {"high", input.high},
         {"values", input.values},
         {"dtype", dtype_name(input.dtype == DType::invalid ? timed_dtype(one) : input.dtype)}});
  }
  return {{"name", one.name},
          {"python", one.python},
          {"dtype", dtype_name(timed_dtype(one))},
          {"gradients", testing::has_gradients(one)},
          {"inputs", inputs}};
}

/// A case on variables, so that nothing is fed or fetched, ready to run.
class TimedCase {
 public:
  TimedCase(const OpCase& one, const Operands& inputs, bool gradients)
      : guard_(graph_.as_default()), session_(graph_, {.passes = {.drop_unread = false}}) {
    std::vector<Tensor> operands;
    for (const Array& array : testing::case_arrays(inputs, timed_dtype(one))) {
      operands.push_back(Variable(array).value());
      add_bytes(operands.back());
    }
    const auto results = one.call(testing::case_tensors(operands, timed_dtype(one)));
    std::vector<Fetch> computed;
    for (const Tensor& result : results) {
      add_bytes(result);
      if (!gradients) computed.emplace_back(result.op());
    }
    if (gradients) {
      // Values of variables, since gradients of constant cotangents could be folded when planning.
      std::vector<OptionalGradient> cotangents;
      session_.run(global_variables_initializer());
      for (const Tensor& result : results) {
        const Shape shape =
            result.shape().fully_known() ? result.shape() : session_.run(result).shape();
        const std::vector<Array> arrays =
            testing::case_arrays({testing::random_input(shape, 0.5, 1.5)}, result.dtype());
        cotangents.emplace_back(Variable(arrays[0]).value());
      }
      for (const OptionalGradient& one_of :
           tf::gradients(results, operands, {.grad_ys = cotangents})) {
        if (one_of) computed.emplace_back(one_of->representative().op());
      }
    }
    empty_ = computed.empty();
    session_.run(global_variables_initializer());
    if (!empty_) run_ = session_.make_callable(computed);
  }

  /// Returns the mean time of `steps` runs in microseconds.
  json time(int steps) {
    if (empty_) return {{"us", nullptr}};
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) run_();
    const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - start;
    const double us = all.count() / steps;
    return {{"us", us}, {"gb_per_second", static_cast<double>(bytes_) / us / 1e3}};
  }

 private:
  void add_bytes(const Tensor& tensor) {
    if (tensor.shape().fully_known()) bytes_ += tensor.shape().bytes(dtype_size(tensor.dtype()));
  }

  Graph graph_;
  DefaultGraphGuard guard_;
  Session session_;
  Callable run_;
  bool empty_ = false;
  std::size_t bytes_ = 0;
};

/// Returns the first operands with which the case and its gradients run, or none.
Operands first_that_runs(const OpCase& one, const std::vector<Operands>& candidates) {
  for (const Operands& operands : candidates) {
    try {
      TimedCase(one, operands, false).time(1);
      if (testing::has_gradients(one)) TimedCase(one, operands, true).time(1);
      return operands;
    } catch (const Error&) {
      // These sizes do not fit together.
    }
  }
  return {};
}

struct Timed {
  const OpCase* of;
  Operands operands;
};

/// Returns the cases on operands of a size: "large", "middle", or "small", the cases' own.
std::vector<Timed> cases_of(const std::string& size) {
  std::vector<Timed> found;
  for (const OpCase* one : timed_cases()) {
    Operands operands = size == "large"   ? one->large
                        : size == "small" ? first_that_runs(*one, {one->inputs})
                                          : first_that_runs(*one, middle_operands(*one));
    if (!operands.empty()) found.push_back({one, std::move(operands)});
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words_given(argv + 1, argv + argc);
  std::string size = "large";
  if (!words_given.empty() && !words_given[0].starts_with("--")) {
    size = words_given[0];
    words_given.erase(words_given.begin());
  }
  const std::vector<Timed> cases = cases_of(size);
  if (!words_given.empty() && words_given[0] == "--list") {
    for (const Timed& one : cases) std::cout << described(*one.of, one.operands).dump() << "\n";
    return 0;
  }
  std::cout << "ready" << std::endl;
  std::unique_ptr<TimedCase> current;
  std::pair<std::size_t, int> what(cases.size(), 0);
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::istringstream words(line);
    std::pair<std::size_t, int> asked;
    int steps = 0;
    if (!(words >> asked.first >> asked.second >> steps) || asked.first >= cases.size()) {
      std::cerr << "bench_ops: no case and steps: " << line << std::endl;
      return 2;
    }
    if (asked != what || current == nullptr) {
      current.reset();
      const Timed& one = cases[asked.first];
      current = std::make_unique<TimedCase>(*one.of, one.operands, asked.second == 1);
      what = asked;
    }
    std::cout << current->time(steps).dump() << std::endl;
  }
}
