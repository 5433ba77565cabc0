#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"

namespace tensor_array_grad {
namespace {

// Whether AddN would find a second reference to the buffer.
bool IsHeldTwice(Value* value) { return !value->LastTensor()->RefCountIsOne(); }

TEST(SmallSelectTest, ANumberIsSharedBySelectAndCopiedBySelectV2) {
  for (const char* op : {"Select", "SelectV2"}) {
    Value condition = Number(true), t = Number(5.f), e = Number(6.f), result;
    t.tensor();
    ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&condition, true}, {&t, false}, {&e, true}}, &result));
    float got = 0;
    EXPECT_TRUE(result.Get(&got) && got == 5);
    EXPECT_EQ(IsHeldTwice(&result), std::string(op) == "Select") << op;
  }
}

TEST(SmallSelectTest, ATensorIsSharedBySelect) {
  const Tensor held = Vec({1, 2});
  Value condition = Number(true), t = Of(held), e = Of(Vec({3, 4})), result;
  ASSERT_TRUE(
      Call(Find("Select", DT_FLOAT), {{&condition, true}, {&t, false}, {&e, false}}, &result));
  EXPECT_EQ(result.tensor()->data(), held.data());
}

TEST(SmallSelectTest, ScalarChoosesAWholeValue) {
  for (const char* op : {"Select", "SelectV2"}) {
    for (bool first : {false, true}) {
      Value condition = Number(first), t = Of(Vec({1, 2})), e = Of(Vec({3, 4})), result;
      const void* const chosen = (first ? t : e).tensor()->data();
      ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&condition, true}, {&t, true}, {&e, true}}, &result));
      EXPECT_THAT(*result.tensor(), TensorEq(first ? Vec({1, 2}) : Vec({3, 4})));
      EXPECT_EQ(result.tensor()->data(), chosen);
    }
  }
}

TEST(SmallSelectTest, ChosenValueThatIsReadAgainIsCopied) {
  // If the result shared the buffer, AddN would find a second reference and add in another order.
  for (const Tensor& held : {Vec({1, 2}), Tensor(5.f)}) {
    Value condition = Number(true), t = Of(held), e = Of(held), result;
    ASSERT_TRUE(
        Call(Find("SelectV2", DT_FLOAT), {{&condition, true}, {&t, false}, {&e, false}}, &result));
    EXPECT_THAT(*result.tensor(), TensorEq(held));
    EXPECT_NE(result.tensor()->data(), held.data());
    EXPECT_TRUE(result.LastTensor()->RefCountIsOne());
  }
}

TEST(SmallSelectTest, ChoosesBetweenNumbersOfEachType) {
  for (DataType dtype : {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_BOOL}) {
    EXPECT_NE(Find("SelectV2", dtype), nullptr);
  }
  Value condition = Number(false), t = Number(true), e = Of(Tensor(false)), result;
  bool got = true;
  ASSERT_TRUE(
      Call(Find("SelectV2", DT_BOOL), {{&condition, true}, {&t, true}, {&e, true}}, &result));
  EXPECT_TRUE(result.Get(&got));
  EXPECT_FALSE(got);
}

TEST(SmallSelectTest, EachElementIsChosenByItsCondition) {
  const float nan = std::nanf("");
  for (const char* op : {"Select", "SelectV2"}) {
    Value conditions = Of(VecOf<bool>({true, false})), t = Of(Vec({1, nan})),
          e = Of(Vec({nan, -0.f}));
    Value result;
    ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&conditions, true}, {&t, true}, {&e, true}}, &result));
    EXPECT_THAT(*result.tensor(), TensorEq(Vec({1, 0})));
    EXPECT_TRUE(std::signbit(ValuesOf(*result.tensor())[1]));
  }
}

TEST(SmallSelectTest, ShapesAreStretchedToEachOtherBySelectV2Only) {
  Value column = Of(TensorOf<bool>({2, 1}, {true, false})), row = Of(Vec({1, 2, 3})), result;
  Value number = Number(7.f);
  const std::vector<Operand> operands = {{&column, true}, {&row, true}, {&number, true}};
  ASSERT_TRUE(Call(Find("SelectV2", DT_FLOAT), operands, &result));
  EXPECT_THAT(*result.tensor(), TensorEq(TensorOf<float>({2, 3}, {1, 2, 3, 7, 7, 7})));
  EXPECT_FALSE(Call(Find("Select", DT_FLOAT), operands, &result));
  Value yes = Number(true), three = Of(Vec({1, 2, 3}));
  ASSERT_TRUE(
      Call(Find("SelectV2", DT_FLOAT), {{&yes, true}, {&number, true}, {&three, true}}, &result));
  EXPECT_THAT(*result.tensor(), TensorEq(Vec({7, 7, 7})));
}

TEST(SmallSelectTest, OtherShapesAreLeftToTheKernel) {
  Value yes = Number(true), conditions = Of(VecOf<bool>({true, false})), result;
  Value two = Of(Vec({1, 2})), three = Of(Vec({1, 2, 3}));
  Value rows = Of(TensorOf<float>({2, 2}, {1, 2, 3, 4}));
  for (const char* op : {"Select", "SelectV2"}) {
    const SmallOp select = Find(op, DT_FLOAT);
    EXPECT_FALSE(Call(select, {{&yes, true}, {&two, true}, {&three, true}}, &result));
    EXPECT_FALSE(Call(select, {{&conditions, true}, {&three, true}, {&three, true}}, &result));
  }
  // Select would choose whole rows by the vector of conditions.
  EXPECT_FALSE(
      Call(Find("Select", DT_FLOAT), {{&conditions, true}, {&rows, true}, {&rows, true}}, &result));
  Value many = Of(Tensor(DT_FLOAT, {kMostSmallElements + 1}));
  EXPECT_FALSE(
      Call(Find("SelectV2", DT_FLOAT), {{&yes, true}, {&many, true}, {&many, true}}, &result));
}

}  // namespace
}  // namespace tensor_array_grad
