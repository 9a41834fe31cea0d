#include "models/vaegan/vaegan.h"
#include "towerflow/tf.h"

namespace towerflow::models::vaegan {
namespace {

constexpr double kLimit = 100;  // of what the networks minimize; there is no gradient beyond
// The weights of the losses, which the published program feeds, always as 1.
constexpr double kKlParam = 1, kLlParam = 1, kGParam = 1;

/// Says how the pass of a name normalizes.
using PassFunction = std::function<Pass(const char* name)>;

Inference inference(const Tensor& x, const Sizes& sizes, const PassFunction& pass) {
  const auto in_scope = [&](const char* name, bool reuse, const auto& network) {
    return tf::with(tf::variable_scope(name, {.reuse = reuse}), [&](auto&) { return network(); });
  };
  const std::int64_t batch_size = x.get_shape()[0];
  const Tensor z_p = tf::random_normal({batch_size, sizes.hidden_size});  // for the GAN
  const Tensor eps = tf::random_normal({batch_size, sizes.hidden_size});  // for the VAE
  Inference made;
  made.z_x = in_scope("enc", false, [&] { return encoder(x, sizes, pass("x")); });
  made.x_tilde = in_scope("gen", false, [&] {
    const Tensor sigma = tf::sqrt(tf::exp(made.z_x.z_log_sigma_sq));
    const Tensor z_x = tf::add(made.z_x.z_mean, tf::multiply(sigma, eps));
    return generator(z_x, sizes, pass("z_x"));
  });
  const auto judge = [&](bool reuse, const Tensor& images, const char* name) {
    return in_scope("dis", reuse, [&] { return discriminator(images, sizes, pass(name)); });
  };
  made.l_x_tilde = judge(false, made.x_tilde, "x_tilde").l;
  const Tensor x_p = in_scope("gen", true, [&] { return generator(z_p, sizes, pass("z_p")); });
  made.x = judge(true, x, "x");
  made.x_p = judge(true, x_p, "x_p");
  return made;
}

Tensor log_of_probability(const Tensor& d) { return tf::log(tf::clip_by_value(d, 1e-5, 1.0)); }

/// Keeps one network from overpowering the other: the rate falls as `x` does.
Tensor balanced(const Operand& learning_rate, const Variable& x) {
  constexpr double kShift = -0.5, kMult = 15;
  return learning_rate * (1.0 / (1.0 + tf::exp(-(x + kShift) * kMult)));
}

/// Returns the trainable variables that have `part` in their names.
std::vector<Variable> variables_with(const char* part) {
  std::vector<Variable> chosen;
  for (const Variable& variable : tf::trainable_variables()) {
    if (variable.name().find(part) != std::string::npos) chosen.push_back(variable);
  }
  return chosen;
}

/// One of the three networks in training.
struct Trained {
  Trained(const char* name, const Tensor& rate, bool strict_slots)
      : part(name), opt(rate, {.epsilon = 1.0}) {
    opt.set_strict_slots(strict_slots);
  }
  void add_tower(const Tensor& loss) {
    tower_grads.push_back(opt.compute_gradients(loss, {.var_list = variables_with(part)}));
  }
  const char* part;
  tf::train::AdamOptimizer opt;
  std::vector<std::vector<GradAndVar>> tower_grads{};
  std::vector<GradAndVar> grads{};  // averaged
};

/// Groups what must be over before the first update: all gradients, and the updates of averages.
Operation backward(const std::vector<Trained*>& networks) {
  std::vector<Fetch> computed;
  for (const Trained* network : networks) {
    for (const auto& tower : network->tower_grads) {
      for (const GradAndVar& pair : tower) computed.emplace_back(pair.grad->dense());
    }
  }
  for (const Tensor& update : tf::get_collection(tf::GraphKeys::UPDATE_OPS)) {
    computed.emplace_back(update);
  }
  return tf::group(computed);
}

}  // namespace

Tensor divergence(const Code& code) {
  const auto clipped = [](const Tensor& z) { return tf::clip_by_value(z, -10.0, 10.0); };
  const Tensor one_plus = 1.0 + clipped(code.z_log_sigma_sq);
  const Tensor less_mean = one_plus - tf::square(clipped(code.z_mean));
  const Tensor terms = less_mean - tf::exp(clipped(code.z_log_sigma_sq));
  return -0.5 * tf::reduce_sum(terms, 1);
}

Losses loss(const Tensor& x, const Inference& made, const Sizes& sizes, bool means) {
  const auto side = static_cast<double>(sizes.image_size);
  const auto per_value = [&](const Tensor& sum) {
    const Tensor value = sum / side / side / double{kChannels};
    return means ? value / static_cast<double>(x.get_shape()[0]) : value;
  };
  Losses losses;
  losses.sse = tf::reduce_mean(tf::square(x - made.x_tilde));
  losses.kl = per_value(tf::reduce_sum(divergence(made.z_x)));
  const Tensor log_d_x = log_of_probability(made.x.d);
  losses.d = tf::reduce_mean(-1.0 * (log_d_x + log_of_probability(1.0 - made.x_p.d)));
  losses.g = tf::reduce_mean(-1.0 * log_of_probability(made.x_p.d));
  losses.ll = per_value(tf::reduce_sum(tf::square(made.x.l - made.l_x_tilde)));
  return losses;
}

Towers build_towers(const TowersOptions& options, const InputFunction& input) {
  Towers towers;
  const auto count = [](const char* name) {
    return tf::get_variable(name, Shape{},
                            {.initializer = tf::constant_initializer(0), .trainable = false});
  };
  towers.global_step = count("global_step");
  const Variable d_real = count("d_real"), d_fake = count("d_fake");
  towers.lr_e = balanced(options.learning_rate, d_real);
  towers.lr_g = balanced(options.learning_rate, d_real);
  towers.lr_d = balanced(options.learning_rate, d_fake);
  const bool strict = options.leave_reuse_on;
  Trained d("dis", towers.lr_d, strict), g("gen", towers.lr_g, strict),
      e("enc", towers.lr_e, strict);

  // prettytensor's decay of averages: small at first, but by a count of steps of its own that
  // nothing increases.
  Operand rate = 0.1;
  if (!options.unordered) {
    const Tensor more = 1.0 + towers.global_step, most = 10.0 + towers.global_step;
    rate = 1.0 - tf::minimum(0.9997, tf::maximum(0.9, more / most));
  }
  const BatchFunction next_batch = input();
  Inference made;  // after the loop, by the last tower, whose D balances the next rates
  const auto build_all = [&] {
    for (int i = 0; i < options.num_towers; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const auto pass = [&](const char* name) -> Pass {
        if (options.unordered) return {.name = "moments", .rate = rate, .waits = true};
        return {.name = name, .rate = i == 0 ? std::optional(rate) : std::nullopt};
      };
      const Tensor x = next_batch().features;
      made = inference(x, options.sizes, pass);
      const Losses losses = loss(x, made, options.sizes, options.mean_losses);
      const auto clipped = [&](const Tensor& sum) {
        return options.unclipped ? sum : tf::clip_by_value(sum, -kLimit, kLimit);
      };
      const Tensor l_e = clipped(losses.kl * kKlParam + losses.ll);
      const Tensor similarity = losses.ll * kLlParam, fooling = losses.g * kGParam;
      const Tensor l_g = clipped(similarity + fooling);
      const Tensor l_d = clipped(losses.d);
      towers.towers.push_back({losses, l_e, l_g, l_d});
      tf::get_variable_scope().reuse_variables();
      e.add_tower(l_e);
      g.add_tower(l_g);
      d.add_tower(l_d);
    }
  };
  if (options.leave_reuse_on) {
    build_all();
  } else {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    build_all();
  }
  std::vector<GradAndVar> decided{{tf::reduce_mean(made.x.d), d_real},
                                  {tf::reduce_mean(made.x_p.d), d_fake}};
  if (options.across_processes) decided = tf::parallel::all_reduce(decided);
  for (Trained* network : {&e, &g, &d}) {
    network->grads = average_gradients(network->tower_grads);
    towers.grads.insert(towers.grads.end(), network->grads.begin(), network->grads.end());
  }
  if (options.unordered) towers.counts_per_step = 3;
  std::vector<Operation> applied;
  {
    std::vector<Operation> before;
    if (!options.unordered) before = {backward({&e, &g, &d})};
    const auto after = tf::control_dependencies(before);
    for (Trained* network : {&e, &g, &d}) {
      tf::train::ApplyGradientsOptions counted;
      if (options.unordered || network == &d) counted.global_step = towers.global_step;
      applied.push_back(network->opt.apply_gradients(network->grads, counted));
    }
  }
  towers.train_e = applied[0];
  towers.train_g = applied[1];
  towers.train_d = applied[2];
  const auto after = tf::control_dependencies(applied);
  std::vector<Operation> assigned;
  for (const GradAndVar& one : decided) {
    assigned.push_back(tf::assign(one.var, one.grad->dense()).op());
  }
  towers.train_op = tf::group(assigned);
  return towers;
}

}  // namespace towerflow::models::vaegan
