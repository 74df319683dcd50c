#include "dlo/cli/draft_text.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo::cli {
namespace {

using testing::must;

JsonValue value_of(const std::string& text) {
  return must(parse_json(text));
}
std::optional<std::string> edited(const std::string& content, const std::string& from,
                                  const std::string& to) {
  const JsonValue value = value_of(content);
  std::string text = write_draft(value, "# a remark\n");
  if (const auto at = text.find(from); at != std::string::npos && !from.empty()) {
    text.replace(at, from.size(), to);
  }
  return edit_members(value, must(read_draft(text)));
}

const std::string order = R"({"headers":[{"name":"tenant","value":"a","type":"text"},)"
                          R"({"name":"n","value":"7","type":"int64"}],"payload":"{\"a\":1}"})";

TEST(DraftText, IsHeadersAnEmptyLineAndThePayload) {
  EXPECT_EQ(write_draft(value_of(order), "# why\n"), "# why\ntenant: a\nn: 7\n\n{\"a\":1}\n");
}

TEST(DraftText, ThatWasNotChangedChangesNothing) {
  EXPECT_EQ(edited(order, "", ""), std::nullopt);
  EXPECT_EQ(edited(R"({"headers":[],"payload":"ends with a break\n"})", "", ""), std::nullopt);
  EXPECT_EQ(edited(R"({"headers":[],"payload":null})", "", ""), std::nullopt);
}

TEST(DraftText, OnlyWhatChangedIsSentAndTypesStay) {
  EXPECT_EQ(edited(order, "{\"a\":1}", "{\"a\":2}"), R"({"payload":"{\"a\":2}"})");
  EXPECT_EQ(edited(order, "n: 7", "n: 8"),
            R"({"headers":[{"name":"tenant","value":"a","type":"text"},)"
            R"({"name":"n","value":"8","type":"int64"}]})");
  EXPECT_EQ(edited(order, "tenant: a\n", ""),
            R"({"headers":[{"name":"n","value":"7","type":"int64"}]})");
}

TEST(DraftText, BytesThatAreNoTextStayAsTheyAre) {
  const std::string bytes =
      R"({"headers":[{"name":"raw","value":"AAE=","value_encoding":"base64"},)"
      R"({"name":"tenant","value":"a"}],)"
      R"("payload":"AAE=","payload_encoding":"base64"})";
  EXPECT_EQ(write_draft(value_of(bytes), "").find("AAE"), std::string::npos);
  EXPECT_EQ(edited(bytes, "", ""), std::nullopt);
  EXPECT_EQ(edited(bytes, "tenant: a", "tenant: b"),
            R"({"headers":[{"name":"raw","value":"AAE=","value_encoding":"base64"},)"
            R"({"name":"tenant","value":"b"}]})");
}

TEST(DraftText, ALineThatIsNoHeaderIsNamed) {
  const auto read = read_draft("# fine\ntenant: a\nnonsense\n\npayload\n");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find("Line 3"), std::string::npos) << read.error().detail;
}

}  // namespace
}  // namespace dlo::cli
