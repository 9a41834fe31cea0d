// What the processes of processes_test.py run under mpirun: `process_checks NAME`. Each check ends
// with exit code 1 and a line on the standard error if something is not as it should be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parallel/processes/mean_by_messages.h"
#include "parallel/processes/mean_in_shared_memory.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

using parallel::process_group;
using parallel::processes::MeanByMessages;
using parallel::processes::MeanExchange;
using parallel::processes::MeanInSharedMemory;

void expect(bool holds, const std::string& what) {
  if (!holds) throw RuntimeError("it does not hold that " + what);
}

/// Prints a line at once: lines of processes that end abruptly count too.
void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// Returns element i of what a process gives: numbers whose sums depend on the order.
template <class T>
T given(int rank, std::int64_t i) {
  const auto number = static_cast<T>((i * 37 + rank * 1009) % 4001 - 2000);
  return number / static_cast<T>(rank % 2 == 0 ? 7 : 7e5);
}

std::vector<int> all_ranks() {
  std::vector<int> ranks;
  for (int rank = 0; rank < process_group().size(); ++rank) ranks.push_back(rank);
  return ranks;
}

template <class T>
T mean_in_rank_order(const std::vector<int>& ranks, const std::function<T(int rank)>& of_rank) {
  T sum = 0;
  for (const int rank : ranks) sum += of_rank(rank);
  return sum / static_cast<T>(ranks.size());
}

template <class T>
std::vector<T> means_of(const MeanExchange& exchange) {
  std::vector<T> means(static_cast<std::size_t>(exchange.elements()));
  std::copy_n(reinterpret_cast<const T*>(exchange.means()), means.size(), means.begin());
  return means;
}

template <class Exchange, class T>
void check_mean(DType dtype, std::int64_t elements, const std::vector<int>& givers,
                int repeats = 4) {
  auto& group = process_group();
  const auto exchange = std::make_shared<Exchange>(group, "a mean", 2, dtype, elements, givers);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    T* numbers = reinterpret_cast<T*>(exchange->numbers());
    const auto number = [&](int rank, std::int64_t i) { return given<T>(rank, i + 5 * repeat); };
    for (std::int64_t i = 0; i < elements; ++i) numbers[i] = number(group.rank(), i);
    if (repeat % 2 == 0) {
      group.start(exchange);
      group.wait(*exchange);
    } else {
      group.run(exchange);
    }
    const std::vector<T> means = means_of<T>(*exchange);
    const std::int64_t step = elements > 100000 ? 13 : 1;  // a sample of a long buffer
    for (std::int64_t i = 0; i < elements; i += step) {
      const T mean = mean_in_rank_order<T>(givers.empty() ? all_ranks() : givers,
                                           [&](int rank) { return number(rank, i); });
      expect(std::memcmp(&means[i], &mean, sizeof(T)) == 0,
             fmt::format("element {} of {} is {}, not {}", i, elements, mean, means[i]));
      expect(numbers[i] == number(group.rank(), i), "an exchange leaves the numbers as they are");
    }
  }
}

template <class Exchange>
void check_means() {
  // Short buffers travel whole, the others in parts, the longest ones in several pieces.
  for (const std::int64_t elements : {0, 1, 17, 1000, 5003, 16385}) {
    const int last = process_group().size() - 1;
    for (const std::vector<int>& givers :
         {std::vector<int>{}, {0}, {1}, {last}, {0, last}, all_ranks()}) {
      check_mean<Exchange, float>(tf::float32, elements, givers);
      check_mean<Exchange, double>(tf::float64, elements, givers);
    }
  }
  for (int i = 0; i < 100; ++i) check_mean<Exchange, float>(tf::float32, 7, {}, 1);  // used once
  check_mean<Exchange, float>(tf::float32, 1200007, {});
  check_mean<Exchange, double>(tf::float64, 1200007, {process_group().size() - 1});
}

/// The mean of buffers of many sizes is that of a loop in rank order, to the bit, whoever gives
/// one and however the numbers travel.
void means() {
  check_means<MeanByMessages>();
  expect(process_group().shares_memory(), "the processes of one host share memory");
  check_means<MeanInSharedMemory>();
  auto& group = process_group();
  const auto strings = group.all_gather(std::string(1000 * group.rank(), 'a'), "strings");
  for (int rank = 0; rank < group.size(); ++rank) {
    expect(strings[rank] == std::string(1000 * rank, 'a'), "strings are gathered by rank");
  }
  expect(group.broadcast(fmt::format("from {}", group.rank()), "a string") == "from 0",
         "a string comes from rank 0");
}

/// A gradient of each kind in one graph: dense ones in several groups, one of float64, slices of
/// different lengths, one that is absent everywhere, and some that single processes lack or have.
void gradients() {
  auto& group = process_group();
  const int rank = group.rank(), size = group.size();
  std::vector<Variable> vars;
  std::vector<GradAndVar> grads;
  for (int k = 0; k < 5; ++k) {
    const Shape shape{k + 1, 3};
    vars.push_back(tf::get_variable(fmt::format("w{}", k), shape));
    const Tensor x = tf::constant(Array::of<float>(
        shape,
        std::vector<float>(static_cast<std::size_t>(shape.elements()), given<float>(rank, k))));
    grads.push_back({x * 1.0F, vars.back()});
  }
  const Variable wide = tf::get_variable("wide", {2}, {.dtype = tf::float64});
  grads.push_back(
      {tf::constant(Array::of<double>(Shape{2}, std::vector<double>(2, rank + 0.5))), wide});
  const Variable none = tf::get_variable("none", {2});
  grads.push_back({tf::None, none});
  const Variable table = tf::get_variable("table", {10, 2});
  std::vector<std::int32_t> ids;
  for (int i = 0; i <= rank; ++i) ids.push_back(rank + i);
  std::vector<float> rows(ids.size() * 2, static_cast<float>(rank + 1));
  const auto count = static_cast<std::int64_t>(ids.size());
  grads.push_back({IndexedSlices{tf::constant(Array::of<float>(Shape{count, 2}, rows)),
                                 tf::constant(Array::of<std::int32_t>(Shape{count}, ids)),
                                 tf::constant({10, 2})},
                   table});
  const Variable most = tf::get_variable("most", {2, 2});
  const Tensor tens = tf::constant(Array::of<float>(Shape{2, 2}, std::vector<float>(4, 10)));
  grads.push_back({rank == 0 ? OptionalGradient() : tens * static_cast<float>(rank), most});
  const Variable few = tf::get_variable("few", {6, 2});
  const IndexedSlices row{tf::constant(Array::of<float>(Shape{1, 2}, {4, 5})),
                          tf::constant(Array::of<std::int64_t>(Shape{1}, {3})), std::nullopt};
  grads.push_back({rank == 1 ? OptionalGradient(row) : OptionalGradient(), few});
  GradientOrigin origin;
  origin.towers = rank == 0 ? 2 : 1;
  const auto own = std::make_shared<const GradientOrigin>(origin);
  const Variable uneven = tf::get_variable("uneven", {2, 2});
  const Tensor number =
      tf::constant(Array::of<float>(Shape{2, 2}, std::vector<float>(4, static_cast<float>(rank))));
  grads.push_back({OptionalGradient(number).with_origin(own), uneven});
  const IndexedSlices rows_of_towers{number, tf::constant({rank, 3}), std::nullopt};
  const Variable uneven_table = tf::get_variable("uneven_table", {9, 2});
  grads.push_back({OptionalGradient(rows_of_towers).with_origin(own), uneven_table});
  const auto means = parallel::all_reduce(grads, {.bucket_bytes = 100});
  expect(!means[6].grad, "an absent gradient stays absent");
  tf::Session sess;
  for (int run = 0; run < 3; ++run) {
    for (int k = 0; k < 5; ++k) {
      const Array mean = sess.run(means[k].grad->dense());
      const auto expected =
          mean_in_rank_order<float>(all_ranks(), [&](int from) { return given<float>(from, k); });
      for (const float value : mean.flat<float>()) {
        expect(value == expected, fmt::format("w{} has the mean {}, not {}", k, expected, value));
      }
    }
    const Array mean = sess.run(means[5].grad->dense());
    expect(mean.flat<double>()[1] == size / 2.0, "the mean of float64 is right");
    const IndexedSlices& slices = means[7].grad->slices();
    const auto values = sess.run({slices.values, slices.indices});
    std::size_t at = 0;
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i <= from; ++i, ++at) {
        expect(values[1].flat<std::int32_t>()[at] == from + i, "rows come in rank order");
        expect(values[0].flat<float>()[2 * at] == static_cast<float>(from + 1) / size,
               "rows are divided by the number of processes");
      }
    }
    expect(values[1].shape() == Shape{static_cast<std::int64_t>(at)}, "no row is missing");
    const Array of_most = sess.run(means[8].grad->dense());
    expect(of_most.flat<float>()[3] == 5.0F * static_cast<float>(size),
           "a gradient that one process lacks is the mean of the others");
    const IndexedSlices& one = means[9].grad->slices();
    const auto of_one = sess.run({one.values, one.indices});
    expect(of_one[0].shape() == Shape{1, 2} && of_one[0].flat<float>()[1] == 5 &&
               of_one[1].flat<std::int64_t>()[0] == 3,
           "rows that one process has are not divided");
    const Array of_towers = sess.run(means[10].grad->dense());
    const auto sum = static_cast<float>(size * (size - 1)) / 2;
    expect(std::abs(of_towers.flat<float>()[3] - sum / static_cast<float>(size + 1)) < 1e-6,
           "a process with two towers counts twice");
    const Array rows_of_last = sess.run(means[11].grad->slices().values);
    expect(std::abs(rows_of_last.flat<float>().back() -
                    static_cast<float>(size - 1) / static_cast<float>(size + 1)) < 1e-6,
           "rows are divided by the number of towers");
  }
}

/// Gradients that others read as well, before and after the exchange: results of the run, another
/// exchange, an op that needs the mean too.
void read_gradients() {
  const int rank = process_group().rank();
  tf::Session sess;
  for (const std::int64_t rows : {7, 400}) {  // a short buffer and a long one
    const Shape shape{rows, 100};
    const Tensor x = tf::placeholder(tf::float32, {.shape = shape});
    const Variable v = tf::get_variable(fmt::format("v_{}", rows), shape);
    const Variable w = tf::get_variable(fmt::format("w_{}", rows), shape);
    const Tensor grad = x * 3.0F;
    const auto means = parallel::all_reduce({{grad, v}, {tf::square(x), w}});
    const auto again = parallel::all_reduce({{grad, v}});
    const Tensor mean = means[0].grad->dense();
    for (int run = 0; run < 5; ++run) {
      const auto fed = [&](int from, std::int64_t i) {
        return static_cast<float>(100 * from + 10 * run + i % 7);
      };
      std::vector<float> values;
      for (std::int64_t i = 0; i < rows * 100; ++i) values.push_back(fed(rank, i));
      const auto got = sess.run({grad, mean, means[1].grad->dense(), again[0].grad->dense(),
                                 grad - mean, tf::reduce_max(grad)},
                                {{x, Array::of<float>(shape, values)}});
      for (std::int64_t i = 0; i < rows * 100; ++i) {
        const auto at = [&](std::size_t result) { return got[result].flat<float>()[i]; };
        const float own = 3 * fed(rank, i);
        const auto of_grad =
            mean_in_rank_order<float>(all_ranks(), [&](int from) { return 3 * fed(from, i); });
        const auto of_square = mean_in_rank_order<float>(
            all_ranks(), [&](int from) { return fed(from, i) * fed(from, i); });
        expect(at(0) == own, "a gradient can be fetched");
        expect(at(1) == of_grad && at(2) == of_square, "means are right");
        expect(at(3) == of_grad, "a gradient can be exchanged twice");
        expect(at(4) == own - of_grad, "an op can read a gradient and its mean");
      }
      expect(got[5].flat<float>()[0] == 3 * fed(rank, 6), "an op can read a gradient");
    }
  }
}

/// The processes list different gradients: each gets the same error.
void mismatch() {
  const bool other = process_group().rank() == 1;
  const Shape shape{other ? 4 : 3};
  const Variable v = tf::get_variable("v", {2}), w = tf::get_variable("w", shape);
  try {
    parallel::all_reduce({{tf::zeros({2}), v}, {tf::zeros(shape), w}});
  } catch (const ValueError& error) {
    expect(
        error.message() ==
            "the processes exchange different gradients: rank 0 has 'w:0: gradient float32 (3,)' "
            "where rank 1 has 'w:0: gradient float32 (4,)'",
        "the message names the difference: " + error.message());
    return;
  }
  expect(false, "different gradients are an error");
}

/// A network whose towers read the part of one batch that is theirs.
struct Net {
  Tensor loss;
  Operation train_op;
  Variable step;
};

constexpr int kExamples = 4;  // of a tower

Tensor tower_loss(int tower) {
  const auto scope = tf::name_scope(fmt::format("tower_{}", tower));
  std::vector<float> numbers(static_cast<std::size_t>(kExamples) * 36);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<float>(i) * 0.37F + static_cast<float>(tower));
  }
  const Tensor x = tf::constant(Array::of<float>(Shape{kExamples, 6, 6, 1}, numbers));
  const auto normal = [](int seed) {
    return tf::truncated_normal_initializer({.stddev = 0.3, .seed = seed});
  };
  const Variable kernel = tf::get_variable("kernel", {3, 3, 1, 4}, {.initializer = normal(1)});
  const Variable dense = tf::get_variable("dense", {144, 5}, {.initializer = normal(2)});
  const Tensor conv = tf::nn::relu(tf::nn::conv2d(x, kernel, {1, 1, 1, 1}, "SAME"));
  const Tensor logits = tf::matmul(tf::reshape(conv, {kExamples, 144}), dense);
  const Tensor labels = tf::constant({tower % 5, 1, 2, 3});
  return tf::reduce_mean(
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}));
}

/// Builds `here` towers, the first of which has number `first`.
Net build_net(int first, int here) {
  Net net;
  net.step = tf::train::get_or_create_global_step();
  tf::train::MomentumOptimizer optimizer(0.1, 0.9);
  const parallel::Towers towers(
      optimizer, [&](int tower, const std::string&) { return tower_loss(first + tower); },
      {.num_towers = here, .apply_gradients = {.global_step = net.step}});
  net.loss = tf::reduce_mean(tf::stack(towers.losses));
  net.train_op = towers.train_op;
  return net;
}

/// Trains and prints a number for each step: the sum of all variables.
void train(int towers) {
  auto& group = process_group();
  const auto averaged = tf::train::transform_gradients([](const std::vector<GradAndVar>& grads) {
    return parallel::all_reduce(grads, {.bucket_bytes = 256});
  });
  const Net net = build_net(group.rank() * towers, towers);
  tf::train::MonitoredTrainingSession sess(
      {.hooks = {std::make_shared<parallel::BroadcastGlobalVariablesHook>()},
       .config = {.allow_soft_placement = true}});
  std::string line = "trained";
  for (int step = 0; step < 5; ++step) {
    sess.run(net.train_op);
    double sum = 0;
    for (const Variable& variable : tf::trainable_variables()) {
      const Array values = sess.raw_session().run(variable);
      for (const float value : values.flat<float>()) sum += value;
    }
    line += fmt::format(" {:a}", sum);
  }
  say(line);
  sess.close();
}

void train_one() { train(1); }
void train_two() { train(2); }
void train_four() { train(4); }

/// Trains until process 1 does something in its third step.
void train_until(const std::function<void()>& happens) {
  auto& group = process_group();
  group.set_time_limit(2);
  const auto averaged = tf::train::transform_gradients(
      [](const std::vector<GradAndVar>& grads) { return parallel::all_reduce(grads); });
  const Net net = build_net(group.rank(), 1);
  tf::train::MonitoredTrainingSession sess(
      {.hooks = {std::make_shared<parallel::BroadcastGlobalVariablesHook>()},
       .config = {.allow_soft_placement = true}});
  const auto trained_values = [&] { return sess.raw_session().run(tf::trainable_variables()[0]); };
  Array before = trained_values();
  for (int step = 0; step < 1000; ++step) {
    if (step == 2 && group.rank() == 1) happens();
    try {
      sess.run(net.train_op);
    } catch (const errors::DeadlineExceededError& error) {
      expect(trained_values() == before, "a step that fails changes nothing");
      group.abort(error.message());
    }
    before = trained_values();
  }
}

void throws() {
  train_until([] { throw errors::DataLossError("the third batch is damaged"); });
}
void killed() {
  train_until([] { std::raise(SIGKILL); });
}
void stopped() {
  train_until([] { std::raise(SIGSTOP); });
}

/// The link of process 1 becomes so slow that a step takes longer than the limit.
void too_slow() {
  train_until([] {
    const int failed =
        std::system("tc qdisc add dev eth0 root tbf rate 4kbit burst 2kb latency 50ms");
    expect(failed == 0, "tc limits the rate");
  });
}

/// Process 1 wants to stop before its third step: all end after the same one.
void stop_together() {
  auto& group = process_group();
  const auto averaged = tf::train::transform_gradients(
      [](const std::vector<GradAndVar>& grads) { return parallel::all_reduce(grads); });
  const Net net = build_net(group.rank(), 1);
  int steps = 0;
  tf::train::MonitoredTrainingSession sess(
      {.hooks = {std::make_shared<parallel::BroadcastGlobalVariablesHook>(),
                 std::make_shared<parallel::StopTogetherHook>(
                     [&] { return group.rank() == 1 && steps == 2; })},
       .config = {.allow_soft_placement = true}});
  for (; !sess.should_stop(); ++steps) sess.run(net.train_op);
  say(fmt::format("stopped after {} steps", steps));
  sess.close();
}

const std::map<std::string, void (*)()> kChecks{
    {"means", means},           {"gradients", gradients}, {"read_gradients", read_gradients},
    {"mismatch", mismatch},     {"train_one", train_one}, {"train_two", train_two},
    {"train_four", train_four}, {"throws", throws},       {"killed", killed},
    {"stopped", stopped},       {"too_slow", too_slow},   {"stop_together", stop_together}};

}  // namespace

int main(int, char** argv) {
  try {
    kChecks.at(argv[1])();
  } catch (const std::exception& error) {
    process_group().abort(error.what());
  }
  return 0;
}
