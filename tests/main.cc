// The main function of all test binaries. In doctest a run without test cases and a case without
// assertions pass; here both fail, so that a mistyped filter or an empty test is noticed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

int cases_without_assertion = 0;
int cases_run = 0;

struct AssertionCounter : doctest::IReporter {
  explicit AssertionCounter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override { current_ = &data; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    ++cases_run;
    if (stats.numAssertsCurrentTest == 0) {
      ++cases_without_assertion;
      std::fprintf(stderr, "no assertion was made in: %s\n", current_->m_name);
    }
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  const doctest::TestCaseData* current_ = nullptr;
};

REGISTER_LISTENER("assertion_counter", 1, AssertionCounter);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (cases_run == 0) {
    std::fprintf(stderr, "no test case ran\n");
    return 1;
  }
  return result != 0 || cases_without_assertion > 0 ? 1 : 0;
}
