// The errors of using an absent gradient or slices where a dense gradient is needed.
#include "tests/porting/gradient_program.h"

using namespace porting;

TEST_CASE("a fetched list of slices or None says what to write") {
  const Program program;
  tf::Session sess;
  CHECK_SLICES(__LINE__, sess.run(program.slices()));
  CHECK_SLICES(__LINE__, sess.run(Gradients{program.dense(), program.slices()}));
  CHECK_SLICES(__LINE__, sess.run({program.loss, *program.slices()}));
  CHECK_SAYS(error_text([&] { sess.run(program.slices()); }), "sess.run(gradient->slices())");
  CHECK_ABSENT("TypeError", __LINE__, sess.run(program.absent_gradient()));
  CHECK_ABSENT("TypeError", __LINE__, sess.run(Gradients{program.absent_gradient()}));
  CHECK_ABSENT("TypeError", __LINE__, sess.run(program.pairs));
  CHECK_ABSENT("TypeError", __LINE__, sess.run({program.loss, program.absent_gradient()}));
  CHECK_ABSENT("TypeError", __LINE__, tf::group(Gradients{program.absent_gradient()}));
  CHECK_ABSENT("TypeError", __LINE__, tf::group({program.loss, program.absent_gradient()}));
  const Gradients absent{program.absent_gradient()};
  CHECK_ABSENT("TypeError", __LINE__, tf::control_dependencies(absent));
  CHECK_ABSENT("TypeError", __LINE__, tf::control_dependencies({program.absent_gradient()}));
}

TEST_CASE("an absent gradient as an operand names variable, tower and both lines") {
  const Program program;
  const tf::OptionalGradient& none = program.absent_gradient();
  CHECK_ABSENT("ValueError", __LINE__, none * 0.1);
  CHECK_ABSENT("ValueError", __LINE__, -0.1f * none);
  CHECK_ABSENT("ValueError", __LINE__, -none);
  CHECK_ABSENT("ValueError", __LINE__, program.loss + none);
  CHECK_ABSENT("ValueError", __LINE__, tf::expand_dims(none, 0));
  CHECK_ABSENT("ValueError", __LINE__, tf::square(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::reduce_sum(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::is_finite(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::clip_by_value(none, -1.0, 1.0));
  CHECK_ABSENT("ValueError", __LINE__, tf::clip_by_norm(none, 1.0));
  CHECK_ABSENT("ValueError", __LINE__, tf::identity(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::stop_gradient(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::cast(none, tf::float64));
  CHECK_ABSENT("ValueError", __LINE__, tf::scalar_mul(0.1, none));
  CHECK_ABSENT("ValueError", __LINE__, tf::add_n({program.dense(), none}));
  CHECK_ABSENT("ValueError", __LINE__, tf::add_n(Gradients{program.dense(), none}));
  CHECK_ABSENT("ValueError", __LINE__, tf::concat(Gradients{none}, 0));
  CHECK_ABSENT("ValueError", __LINE__, tf::stack({none, none}));
  CHECK_ABSENT("ValueError", __LINE__, tf::reduce_mean({none, none}, 0));
  CHECK_ABSENT("ValueError", __LINE__, tf::summary::histogram("unused", none));
  CHECK_ABSENT("ValueError", __LINE__, tf::assign(program.unused, none));
  CHECK_ABSENT("ValueError", __LINE__, program.unused.assign_add(none));
  CHECK_ABSENT("ValueError", __LINE__, tf::convert_to_tensor(none));
}

TEST_CASE("Python's operators refuse slices beside a number") {
  const Program program;
  const tf::OptionalGradient& slices = program.slices();
  CHECK_SLICES(__LINE__, slices * 0.1);
  CHECK_SLICES(__LINE__, -0.1f * *slices);
  CHECK_SLICES(__LINE__, slices / 2);
  CHECK_SLICES(__LINE__, slices + *slices);
  CHECK_SLICES(__LINE__, 0 < slices);
  CHECK_SLICES(__LINE__, tf::reduce_mean({slices, slices}, 0));
  CHECK_SAYS(error_text([&] { slices * 0.1; }), "which '*' takes beside a tensor alone",
             "tf::scalar_mul(factor, *gradient)");
  CHECK(program.run(slices * tf::constant(2.0f)) == Numbers{0, 0, 4, 4, 2, 2, 0, 0});
  CHECK(program.run(program.table - slices) == Numbers{1, 1, -1, -1, 0, 0, 1, 1});
  CHECK(program.run(tf::convert_to_tensor(tf::scalar_mul(0.5, slices))) ==
        Numbers{0, 0, 1, 1, 0.5, 0.5, 0, 0});
  const tf::Gradient minus = -slices;
  CHECK_FALSE(minus.is_dense());
  // A result of arithmetic on a gradient still belongs to the same variable.
  CHECK_SLICES(__LINE__, minus * 0.1);
}

TEST_CASE("gradients of gradients, and up to them") {
  const Program program;
  const Gradients grads = tf::gradients(program.loss, {program.w});
  const Gradients second = tf::gradients(grads[0], {program.w});
  CHECK(program.run(second[0]->dense()) == Numbers{2, 2, 2});
  CHECK(program.run(tf::gradients(grads, program.w)[0]->dense()) == Numbers{2, 2, 2});
  const tf::Tensor penalty = tf::reduce_sum(tf::square(grads[0]));
  CHECK(program.run(tf::gradients(penalty, {program.w})[0]->dense()) == Numbers{8, -16, 24});
  CHECK(program.run(tf::gradients(penalty, grads)[0]->dense()) == Numbers{4, -8, 12});
  CHECK_FALSE(tf::gradients(penalty, {program.w}, {.stop_gradients = grads})[0]);
  CHECK_FALSE(tf::gradients(penalty, {program.w}, {.stop_gradients = grads[0]})[0]);
  CHECK_FALSE(tf::gradients(penalty, {program.w}, {.stop_gradients = {*grads[0]}})[0]);
  // Each variable is a constant in the gradients of the others, but not in its own.
  CHECK(tf::gradients(program.loss, {program.w}, {.stop_gradients = tf::trainable_variables()})[0]);
  const Gradients weighted =
      tf::gradients(std::vector<tf::Tensor>{program.w.value()}, {program.w}, {.grad_ys = grads});
  CHECK(program.run(weighted[0]->dense()) == Numbers{2, -4, 6});
  CHECK(tf::why_none(penalty, program.w, {.stop_gradients = grads}).cause ==
        tf::NoneCause::stop_gradients_argument);
  CHECK_SLICES(__LINE__, tf::gradients(program.slices(), {program.table}));
  CHECK_SLICES(__LINE__, tf::gradients(program.loss, {program.slices()}));
  CHECK_SLICES(__LINE__, tf::gradients(program.loss, program.slices()));
  CHECK_ABSENT("ValueError", __LINE__, tf::gradients(program.absent_gradient(), {program.w}));
  CHECK_ABSENT("ValueError", __LINE__, tf::gradients(program.loss, {program.absent_gradient()}));
  const tf::Tensor& y = program.loss;
  const tf::OptionalGradient& none = program.absent_gradient();
  CHECK_ABSENT("ValueError", __LINE__, tf::gradients(y, {y}, {.stop_gradients = none}));
}
