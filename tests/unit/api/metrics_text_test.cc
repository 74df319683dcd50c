#include "dlo/api/metrics_text.h"

#include <gtest/gtest.h>

namespace dlo::api {
namespace {

TEST(MetricsText, IsWhatPrometheusReads) {
  MetricsText text;
  text.family("a", MetricsText::Kind::gauge, "What a is.").sample(0.15);
  text.family("b_total", MetricsText::Kind::counter, "What b is.");
  text.sample({{"name", "x"}, {"state", "open"}}, 1).sample({{"name", "y"}}, 12'345'678'901);
  EXPECT_EQ(text.take(),
            "# HELP a What a is.\n# TYPE a gauge\na 0.15\n"
            "# HELP b_total What b is.\n# TYPE b_total counter\n"
            "b_total{name=\"x\",state=\"open\"} 1\nb_total{name=\"y\"} 12345678901\n");
}

TEST(MetricsText, NamesThatOthersChoseBreakNothing) {
  MetricsText text;
  text.family("a", MetricsText::Kind::gauge, "").sample({{"name", "\"} 1\n\\"}}, 0);
  EXPECT_TRUE(text.take().ends_with("a{name=\"\\\"} 1\\n\\\\\"} 0\n"));
}

}  // namespace
}  // namespace dlo::api
