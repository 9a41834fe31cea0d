#include <functional>

#include "models/inception3/inception3.h"
#include "models/inception3/slim.h"
#include "towerflow/tf.h"

namespace towerflow::models::inception3 {
namespace {

using slim::avg_pool;
using slim::Kernel;
using slim::max_pool;

const slim::ConvOptions kHalved{.stride = 2, .padding = "VALID"};
const slim::PoolOptions kHalvedPool{.stride = 2, .padding = "VALID"};

/// A convolution in a chain.
struct Conv {
  int filters;
  Kernel kernel;
  slim::ConvOptions options{};
};

/// A branch of a block: the name of its variable scope, and its layers.
struct Branch {
  const char* name;
  std::function<Tensor()> layers;
};

/// Builds the network; `net` is what the layers so far return.
class Network {
 public:
  Network(const Tensor& images, const InferenceOptions& options)
      : net_(images), is_training_(options.for_training), num_classes_(options.num_classes) {}

  EndPoints build() {
    stem();
    for (const auto& [name, pooled] :
         {std::pair("mixed_35x35x256a", 32), {"mixed_35x35x288a", 64}, {"mixed_35x35x288b", 64}}) {
      block_35x35(name, pooled);
    }
    reduction_to_17x17();
    for (const auto& [name, inner] : {std::pair("mixed_17x17x768b", 128),
                                      {"mixed_17x17x768c", 160},
                                      {"mixed_17x17x768d", 160},
                                      {"mixed_17x17x768e", 192}}) {
      block_17x17(name, inner);
    }
    auxiliary_head();
    reduction_to_8x8();
    block_8x8("mixed_8x8x2048a");
    block_8x8("mixed_8x8x2048b");
    head();
    return end_points_;
  }

 private:
  Tensor chain(Tensor x, const std::vector<Conv>& layers) const {
    for (const Conv& layer : layers) {
      x = slim::conv2d(x, layer.filters, layer.kernel, is_training_, layer.options);
    }
    return x;
  }

  /// Returns two convolutions of `x` side by side.
  Tensor forked(const Tensor& x) const {
    const Tensor wide = chain(x, {{384, {1, 3}}});
    const Tensor high = chain(x, {{384, {3, 1}}});
    return tf::concat({wide, high}, 3);
  }

  Tensor pooled_branch(int filters) const {
    return chain(avg_pool(net_, {3, 3}), {{filters, {1, 1}}});
  }

  void end_point(const std::string& name, const Tensor& activation) {
    end_points_.emplace_back(name, activation);
    net_ = activation;
  }

  /// Concatenates branches of the net.
  void block(const std::string& name, const std::vector<Branch>& branches) {
    const auto scope = tf::variable_scope(name);
    std::vector<Tensor> results;
    for (const Branch& branch : branches) {
      const auto inner = tf::variable_scope(branch.name);
      results.push_back(branch.layers());
    }
    end_point(name, tf::concat(results, 3));
  }

  void conv(const std::string& name, int filters, Kernel kernel, slim::ConvOptions options) {
    options.scope = name;
    end_point(name, chain(net_, {{filters, kernel, options}}));
  }
  void pool(const std::string& name) {
    end_point(name, max_pool(net_, {3, 3}, {.stride = 2, .padding = "VALID", .scope = name}));
  }

  void stem() {
    const slim::ConvOptions valid{.padding = "VALID"};
    conv("conv0", 32, {3, 3}, kHalved);  // 149 x 149
    conv("conv1", 32, {3, 3}, valid);    // 147 x 147
    conv("conv2", 64, {3, 3}, {});
    pool("pool1");  // 73 x 73
    conv("conv3", 80, {1, 1}, valid);
    conv("conv4", 192, {3, 3}, valid);  // 71 x 71
    pool("pool2");                      // 35 x 35
  }

  void block_35x35(const std::string& name, int pooled) {
    block(name, {{"branch1x1",
                  [&] {
                    return chain(net_, {{64, {1, 1}}});
                  }},
                 {"branch5x5",
                  [&] {
                    return chain(net_, {{48, {1, 1}}, {64, {5, 5}}});
                  }},
                 {"branch3x3dbl",
                  [&] {
                    return chain(net_, {{64, {1, 1}}, {96, {3, 3}}, {96, {3, 3}}});
                  }},
                 {"branch_pool", [&] { return pooled_branch(pooled); }}});
  }

  void reduction_to_17x17() {
    block("mixed_17x17x768a",
          {{"branch3x3",
            [&] {
              return chain(net_, {{384, {3, 3}, kHalved}});
            }},
           {"branch3x3dbl",
            [&] {
              return chain(net_, {{64, {1, 1}}, {96, {3, 3}}, {96, {3, 3}, kHalved}});
            }},
           {"branch_pool", [&] {
              return max_pool(net_, {3, 3}, kHalvedPool);
            }}});
  }

  void block_17x17(const std::string& name, int k) {
    block(
        name,
        {{"branch1x1",
          [&] {
            return chain(net_, {{192, {1, 1}}});
          }},
         {"branch7x7",
          [&] {
            return chain(net_, {{k, {1, 1}}, {k, {1, 7}}, {192, {7, 1}}});
          }},
         {"branch7x7dbl",
          [&] {
            return chain(net_, {{k, {1, 1}}, {k, {7, 1}}, {k, {1, 7}}, {k, {7, 1}}, {192, {1, 7}}});
          }},
         {"branch_pool", [&] { return pooled_branch(192); }}});
  }

  /// A second prediction from the middle of the network, which brings its layers a stronger
  /// gradient.
  void auxiliary_head() {
    Tensor x = tf::identity(net_);
    const auto scope = tf::variable_scope("aux_logits");
    x = avg_pool(x, {5, 5}, {.stride = 3, .padding = "VALID"});
    x = chain(x, {{128, {1, 1}, {.scope = "proj"}}});
    x = chain(x, {{768, size_of(x), {.padding = "VALID", .stddev = 0.01}}});
    x = slim::fc(slim::flatten(x), num_classes_, {.stddev = 0.001});
    end_points_.emplace_back("aux_logits", x);
  }

  /// Its name, of a wrong size, is that in published checkpoints.
  void reduction_to_8x8() {
    block("mixed_17x17x1280a",
          {{"branch3x3",
            [&] {
              return chain(net_, {{192, {1, 1}}, {320, {3, 3}, kHalved}});
            }},
           {"branch7x7x3",
            [&] {
              return chain(net_,
                           {{192, {1, 1}}, {192, {1, 7}}, {192, {7, 1}}, {192, {3, 3}, kHalved}});
            }},
           {"branch_pool", [&] {
              return max_pool(net_, {3, 3}, kHalvedPool);
            }}});
  }

  void block_8x8(const std::string& name) {
    block(name, {{"branch1x1",
                  [&] {
                    return chain(net_, {{320, {1, 1}}});
                  }},
                 {"branch3x3",
                  [&] {
                    return forked(chain(net_, {{384, {1, 1}}}));
                  }},
                 {"branch3x3dbl",
                  [&] {
                    return forked(chain(net_, {{448, {1, 1}}, {384, {3, 3}}}));
                  }},
                 {"branch_pool", [&] { return pooled_branch(192); }}});
  }

  void head() {
    const auto scope = tf::variable_scope("logits");
    Tensor x = avg_pool(net_, size_of(net_), {.stride = 2, .padding = "VALID", .scope = "pool"});
    if (is_training_) {
      const auto dropout = tf::name_scope("dropout");
      x = tf::nn::dropout(x, 0.8);
    }
    x = slim::fc(slim::flatten(x, "flatten"), num_classes_, {.scope = "logits"});
    end_point("logits", x);
    end_point("predictions", tf::nn::softmax(x, {.name = "predictions"}));
  }

  static Kernel size_of(const Tensor& x) {
    return {static_cast<int>(x.shape().size(1)), static_cast<int>(x.shape().size(2))};
  }

  Tensor net_;
  bool is_training_;
  std::int64_t num_classes_;
  EndPoints end_points_;
};

}  // namespace

EndPoints inception_v3(const Tensor& images, const InferenceOptions& options) {
  const auto scope = tf::name_scope(options.scope);
  return Network(images, options).build();
}

}  // namespace towerflow::models::inception3
