// Reading collections back: strings, and errors that explain why a filter matched nothing.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

/// Two towers, each with a loss in "losses", and two variables.
struct Losses {
  Losses() : guard(graph.as_default()) {
    for (int tower = 0; tower < 2; ++tower) {
      const auto scope = tf::name_scope("tower_" + std::to_string(tower));
      tf::add_to_collection("losses", tf::constant(1.0, {.name = "loss"}));
    }
    tf::get_variable("net/w", {2});
    tf::get_variable("net/b", {2});
  }
  Graph graph;
  DefaultGraphGuard guard;
};

/// Checks the error about the losses of a tower that does not exist.
void check_losses(const std::string& said) {
  CHECK_SAYS(said, "collection 'losses' with scope 'tower_9'", "0 of 2 matched",
             "nearest existing: 'tower_0', 'tower_1'");
  CHECK(said.find("get_variable") == std::string::npos);
}

}  // namespace

TEST_CASE("strings in a collection are std::string, however they were written") {
  Graph graph;
  const auto guard = graph.as_default();
  const char* pointer = "pointer";
  char buffer[] = "buffer";
  tf::add_to_collection("names", "literal");
  tf::add_to_collection("names", pointer);
  tf::add_to_collection("names", buffer);
  tf::add_to_collection("names", std::string_view("view"));
  tf::add_to_collection("names", std::string("string"));
  tf::add_to_collections({"names"}, "of several");
  buffer[0] = 'X';
  CHECK(tf::get_collection<std::string>("names") ==
        std::vector<std::string>{"literal", "pointer", "buffer", "view", "string", "of several"});
  CHECK(tf::get_collection<std::string>("names", "lit").empty());  // a string has no name to match
}

TEST_CASE("a filter that matched nothing is explained where its result is an operand") {
  const Losses made;
  check_losses(error_text([] { tf::add_n(tf::get_collection("losses", "tower_9")); }));
  check_losses(error_text([] { tf::concat(tf::get_collection("losses", "tower_9"), 0); }));
  check_losses(error_text([] { tf::identity_n(tf::get_collection("losses", "tower_9")); }));
  check_losses(error_text([] { tf::summary::merge(tf::get_collection("losses", "tower_9")); }));
  check_losses(error_text(
      [] { tf::train::batch(tf::get_collection("losses", "tower_9"), {.batch_size = 2}); }));
  check_losses(error_text([] {
    tf::train::shuffle_batch(tf::get_collection("losses", "tower_9"),
                             {.batch_size = 2, .capacity = 9, .min_after_dequeue = 2});
  }));
  check_losses(error_text([] { tf::losses::get_total_loss({.scope = "tower_9"}); }));
}

TEST_CASE("a filter that matched nothing is explained where an element is taken") {
  const Losses made;
  const auto found = tf::get_collection("losses", "tower_9");
  check_losses(error_text([&] { return found[0]; }));
  check_losses(error_text([&] { return found.at(0); }));
  check_losses(error_text([&] { return found.front(); }));
  check_losses(error_text([&] { return found.back(); }));
  auto all = tf::get_collection("losses");
  CHECK(all.back() == all[1]);
  CHECK_SAYS(error_text([&] { return all[2]; }), "list index out of range", "2 of 2");
}

TEST_CASE("a filter that matched nothing is explained where its result is a var_list") {
  const Losses made;
  const auto found = [] {
    return tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, "tower_0");
  };
  const auto check = [](const std::string& said) {
    CHECK_SAYS(said, "collection 'trainable_variables' with scope 'tower_0'", "0 of 2 matched",
               "name scopes do not apply to get_variable", "'net'");
  };
  check(error_text([&] { tf::train::Saver({.var_list = found()}); }));
  check(error_text([&] {
    tf::train::GradientDescentOptimizer(0.1).minimize(tf::constant(1.0), {.var_list = found()});
  }));
}

TEST_CASE("a key that no collection has") {
  const Losses made;
  CHECK_SAYS(error_text([] { tf::add_n(tf::get_collection("loses")); }),
             "collection 'loses' is empty", "nearest existing: 'losses' (2 entries)");
  CHECK_SAYS(error_text([] { tf::add_n(std::vector<Tensor>{}); }), "at least one Tensor");
}
