// What the fixtures do not show of layers, cells and slim.
#include <doctest/doctest.h>

#include "layers/dynamic_rnn.h"
#include "layers/md5.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using nn::rnn_cell::LSTMStateTuple;
using nn::rnn_cell::State;
using nn::rnn_cell::StateSize;
using nn::rnn_cell::StructureKind;

TEST_CASE("a layer tells its variables, losses and updates") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  const layers::Dense layer(4, {.kernel_regularizer = slim::l2_regularizer(0.5), .name = "fc"});
  CHECK_FALSE(layer.built());
  CHECK_FALSE(layer.kernel().valid());
  layer(x);
  const layers::Dense same = layer;
  CHECK(same.built());
  CHECK(same.kernel() == layer.kernel());
  CHECK(layer.scope_name() == "fc");
  CHECK(layer.variables().size() == 2);
  CHECK(layer.trainable_variables()[0] == layer.kernel());
  CHECK(layer.bias().name() == "fc/bias:0");
  CHECK(layer.count_params() == 16);
  CHECK(layer.losses().size() == 1);
  CHECK(layer.updates().empty());
  layer.set_trainable(false);
  CHECK(layer.trainable_variables().empty());
  CHECK(layer.non_trainable_variables().size() == 2);
}

TEST_CASE("batch normalization lists its updates once") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  const layers::BatchNormalization layer;
  layer(x, true);
  layer(x, true);
  CHECK(layer.updates().size() == 4);
  CHECK(get_collection<Operation>(GraphKeys::UPDATE_OPS).size() == 4);
  CHECK(layer.trainable_variables().size() == 2);
  CHECK(layer.non_trainable_variables()[0] == layer.moving_mean());
}

TEST_CASE("batch renormalization is an UnimplementedError") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  CHECK_THROWS_AS(layers::batch_normalization(x, {.renorm = true}), errors::UnimplementedError);
}

TEST_CASE("a run decides whether batch normalization trains") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None, 2}});
  const Tensor training = placeholder(bool_, {.shape = {}});
  const layers::BatchNormalization layer(layers::BatchNormalizationLayerOptions{.momentum = 0.5});
  const Tensor y = layer(x, training);
  const Operation update = group(get_collection<Fetch>(GraphKeys::UPDATE_OPS));
  Session session;
  session.run(global_variables_initializer());
  const Array batch = to_array({{1.0, 2.0}, {3.0, 6.0}});
  session.run(update, {{x, batch}, {training, false}});
  CHECK(session.run(layer.moving_mean()).data<float>()[1] == 0.0F);
  session.run(update, {{x, batch}, {training, true}});
  CHECK(session.run(layer.moving_mean()).data<float>()[1] == 2.0F);
  const float in_training = session.run(y, {{x, batch}, {training, true}}).data<float>()[1];
  const float otherwise = session.run(y, {{x, batch}, {training, false}}).data<float>()[1];
  CHECK(in_training == doctest::Approx(-1.0F).epsilon(1e-3));
  CHECK(otherwise == doctest::Approx(0.0F).epsilon(1e-3));
}

TEST_CASE("a run checks that there is a length for each sequence") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None, None, 3}});
  const Tensor lengths = placeholder(int32, {.shape = {None}});
  const nn::rnn_cell::GRUCell cell(4);
  const auto found = nn::dynamic_rnn(cell, x, {.sequence_length = lengths, .dtype = float32});
  Session session;
  session.run(global_variables_initializer());
  const Array steps(float32, {2, 5, 3});
  CHECK(session.run(found.outputs, {{x, steps}, {lengths, to_array({1, 9})}}).shape() ==
        Shape({2, 5, 4}));
  CHECK_THROWS_AS(session.run(found.outputs, {{x, steps}, {lengths, to_array({1, 2, 3})}}),
                  errors::InvalidArgumentError);
}

/// A layer of a program's own: x * factor.
class ScaleBody final : public layers::LayerBody {
 public:
  ScaleBody() : LayerBody("scale", {}, Site::current()) {}

 protected:
  void build(const Shape& shape, Site site) override {
    factor_ = add_weight("factor", {shape[-1]}, {.initializer = ones_initializer()}, site);
  }
  Tensor call(const Tensor& inputs, Site) override { return inputs * factor_; }

 private:
  Variable factor_;
};

TEST_CASE("a program's own layer") {
  Graph graph;
  const auto scope = graph.as_default();
  const layers::Layer layer(std::make_shared<ScaleBody>());
  const Tensor y = layer(ones({2, 3}));
  CHECK(y.name() == "scale/mul:0");
  CHECK(layer.variables().at(0).name() == "scale/factor:0");
  CHECK(layer(ones({2, 3})).name() == "scale/mul_1:0");
}

TEST_CASE("states are nested as the cells are") {
  Graph graph;
  const auto scope = graph.as_default();
  const nn::rnn_cell::BasicLSTMCell lstm(4);
  const nn::rnn_cell::MultiRNNCell cell({lstm, nn::rnn_cell::GRUCell(3)});
  const StateSize sizes = cell.state_size();
  CHECK(sizes.flatten() == std::vector<std::int64_t>{4, 4, 3});
  CHECK(sizes[0].kind() == StructureKind::lstm);
  CHECK(sizes.at(1).is_leaf());
  const State zeros_of_cell = cell.zero_state(2, float32);
  CHECK(zeros_of_cell.same_structure(sizes));
  const Tensor a = ones({2, 4}), b = ones({2, 3});
  const State right{LSTMStateTuple{a, a}, b};
  const State tuple_of_one(std::initializer_list<State>{right});
  CHECK_FALSE(tuple_of_one.same_structure(sizes));
  CHECK(right.same_structure(sizes));
  CHECK(right[0].h() == a);
  const Tensor second = right[1];
  CHECK(second == b);
  CHECK(sizes.pack(right.flatten()).same_structure(right));
  CHECK_THROWS_AS(sizes.pack(std::vector<Tensor>{a}), ValueError);
  CHECK_THROWS_AS(right.leaf(), TypeError);
  CHECK_THROWS_AS(right.at(2), ValueError);
  CHECK_THROWS_AS(right[1].c(), TypeError);
  CHECK_THROWS_AS(lstm(b, a), TypeError);
  CHECK_THROWS_AS(lstm(b, State{a}), ValueError);
  CHECK_THROWS_AS((LSTMStateTuple{a, cast(a, float64)}.dtype()), TypeError);
}

TEST_CASE("MD5 sums of RFC 1321") {
  CHECK(layers::md5_prefix("") == 0xd41d8cd9);
  CHECK(layers::md5_prefix("abc") == 0x90015098);
  CHECK(layers::md5_prefix(std::string(80, '1')) == layers::md5_prefix(std::string(80, '1')));
  CHECK(layers::md5_prefix("12345678901234567890123456789012345678901234567890123456789012345678901"
                           "234567890") == 0x57edf4a2);
}

TEST_CASE("an arg_scope ends with its guard") {
  Graph graph;
  const auto scope = graph.as_default();
  const Tensor x = ones({2, 3});
  const auto type_of = [&] { return slim::fully_connected(x, 2).op().type(); };
  {
    const auto linear = slim::arg_scope({slim::fully_connected}, {.activation_fn = None});
    CHECK(type_of() == "BiasAdd");
  }
  CHECK(type_of() == "Relu");
}

TEST_CASE("the batch size of a zero state may be a scalar or a vector") {
  Graph graph;
  const auto guard = graph.as_default();
  const nn::rnn_cell::BasicRNNCell cell(3);
  Session session(graph);
  for (const Tensor& size : {constant(2), constant({2})}) {
    CHECK(session.run(cell.zero_state(size, float32).leaf()).shape() == Shape{2, 3});
  }
  CHECK_THROWS_AS(cell.zero_state(constant({{2}}), float32), ValueError);
}

TEST_CASE("slim::repeat of a value makes it a tensor") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = slim::repeat({{1.0, 2.0}}, 2, slim::fully_connected, 3);
  CHECK(x.shape() == Shape{1, 3});
}

}  // namespace
}  // namespace towerflow
