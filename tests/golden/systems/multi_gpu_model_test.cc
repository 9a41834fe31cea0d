#include "models/multi_gpu_model/multi_gpu_model.h"

#include <doctest/doctest.h>

#include "tests/golden/system_curve.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;

golden::Training build_multi_gpu_model(const golden::Json& options,
                                       const models::InputFunction& input) {
  namespace m = models::multi_gpu_model;
  const auto built =
      m::build({.num_gpus = options["towers"],
                .config = {.embedding = options.value("embedding", false)},
                .next_batch = input ? input() : models::BatchFunction(),
                .second_averager = options.value("averager", std::string("first")) == "second"});
  return {tf::get_collection("loss", built.train_scope), {built.train_op}};
}

TEST_CASE("the graphs of multi_gpu_model are TensorFlow's") {
  golden::check_graphs("multi_gpu_model", build_multi_gpu_model);
}
TEST_CASE("ten steps of multi_gpu_model, with both averagers and an embedding") {
  golden::check_curves("multi_gpu_model", build_multi_gpu_model);
}

}  // namespace
