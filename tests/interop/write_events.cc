// write_events FOLDER: writes summaries of three steps and their graph for events.py.
#include <towerflow/tf.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    tf::Graph graph;
    const auto guard = graph.as_default();
    const tf::Tensor step = tf::placeholder(tf::float32, {.shape = tf::Shape{}, .name = "step"});
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const tf::Tensor x = tf::constant({-1.0, 0.0, 0.5, 2.0}, {.name = "x"}) * step;
      tf::summary::histogram("x", x);
      tf::summary::scalar("mean", tf::reduce_mean(x));
    }
    tf::summary::scalar("of family", step * 2.0, {.family = "rates"});
    const tf::Tensor merged = tf::summary::merge_all().value();
    tf::Session session({.allow_soft_placement = true});
    tf::summary::FileWriter writer(argv[1], graph);
    writer.add_session_log({tf::summary::SessionLog::START}, 0);
    for (int i = 0; i < 3; ++i) writer.add_summary(session.run(merged, {{step, 1.0 * i}}), i * 10);
    writer.close();
  } catch (const tf::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
