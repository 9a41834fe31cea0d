#include "models/char_lstm/char_lstm.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/summaries.h"
#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

golden::Training build_char_lstm(const golden::Json& options, const models::InputFunction& input) {
  namespace char_lstm = models::char_lstm;
  const std::int64_t batch_size = options["batch"], examples = options.value("examples", 400);
  const auto own = [&] {
    Array codes(DType::int32, Shape{char_lstm::kBytes});
    std::fill_n(codes.data<std::int32_t>(), char_lstm::kBytes, 0);
    return char_lstm::windows(
        {.files = {"text.txt"}, .examples = examples, .batch_size = batch_size, .num_threads = 16},
        {.held_out = 90, .codes = codes, .seq_length = options["seq_length"]});
  };
  const auto built =
      char_lstm::build_towers({.num_towers = options["towers"],
                               .network = {.classes = options["classes"],
                                           .rnn_size = options["rnn_size"],
                                           .static_unrolling = options["static_unrolling"]},
                               .optimizer = options["optimizer"],
                               .learning_rate = options.value("learning_rate", 0.002),
                               .grad_clip = options.value("grad_clip", 5.0),
                               .batch_size = batch_size,
                               .examples = examples},
                              input ? input : models::InputFunction(own));
  models::merged_summaries(built.summaries, built.grads, {.learning_rate = built.learning_rate});
  return {built.costs, {built.train_op}};
}

TEST_CASE("the graph of char_lstm is the published program's") {
  golden::check_graphs("char_lstm", build_char_lstm);
}
TEST_CASE("ten steps of char_lstm") { golden::check_curves("char_lstm", build_char_lstm); }

}  // namespace
