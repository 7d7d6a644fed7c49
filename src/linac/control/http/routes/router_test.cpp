#include "linac/control/http/routes/router.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::http {
namespace {

Route route(Method method, const char* pattern, const char* name) {
  Route route;
  route.method = method;
  route.pattern = pattern;
  route.name = name;
  if (method != Method::kGet) route.changes = Changes::nothing();
  route.reads = Reads::nothing();
  return route;
}

Router router() {
  return Router({route(Method::kGet, "/a/runs", "list"), route(Method::kPost, "/a/runs/search", "search"),
                 route(Method::kGet, "/a/runs/{id}", "get"), route(Method::kDelete, "/a/runs/{id}/tags/{key}", "untag"),
                 route(Method::kGet, "/files/{path...}", "file"), route(Method::kGet, "/files", "files")});
}

TEST(Router, FindsFixedPathsVariablesAndRests) {
  const Router table = router();
  EXPECT_EQ(table.match(Method::kGet, "/a/runs").route->name, "list");
  EXPECT_EQ(table.match(Method::kPost, "/a/runs/search").route->name, "search");
  const Match get = table.match(Method::kGet, "/a/runs/search");  // by GET it is an id
  EXPECT_EQ(get.route->name, "get");
  EXPECT_EQ(get.variables.at("id"), "search");
  const Match tag = table.match(Method::kDelete, "/a/runs/1/tags/a%2Fb%20c");
  EXPECT_EQ(tag.route->name, "untag");
  EXPECT_EQ(tag.variables.at("key"), "a/b c");
  EXPECT_EQ(table.match(Method::kGet, "/files/a/b%20c").variables.at("path"), "a/b c");
  EXPECT_EQ(table.match(Method::kGet, "/files/").variables.at("path"), "");
  EXPECT_EQ(table.match(Method::kGet, "/files").route->name, "files");
}

TEST(Router, TellsAnotherMethodFromNothing) {
  const Router table = router();
  EXPECT_TRUE(table.match(Method::kPut, "/a/runs").other_method);
  EXPECT_TRUE(table.match(Method::kPut, "/a/runs/7").other_method);
  for (const char* path : {"", "/", "/a", "/a/runs/", "/a/runs/1/2", "/a/runs/..", "/a/runs/.", "/a/runs/%2e%2e",
                           "/a/runs/%zz", "/a/runs/%00", "/a/runs/%ff", "//a/runs", "*"}) {
    const Match match = table.match(Method::kGet, path);
    EXPECT_EQ(match.route, nullptr) << path;
    EXPECT_FALSE(match.other_method) << path;
  }
}

TEST(RouterDeathTest, RefusesTwoRoutesOfOneName) {
  EXPECT_DEATH(Router({route(Method::kGet, "/a", "same"), route(Method::kGet, "/b", "same")}), "");
  EXPECT_DEATH(Router({route(Method::kGet, "/a", "one"), route(Method::kGet, "/a", "two")}), "");
}

bool is_refused(Route one) {
  try {
    Router({std::move(one)});
  } catch (const Error&) {
    return true;
  }
  return false;
}

TEST(Router, RefusesWhatDoesNotSayWhatItChanges) {
  const auto refused = [](Method method, Access access, Changes changes) {
    Route one = route(method, "/a", "one");
    one.access = access;
    one.changes = std::move(changes);
    return is_refused(std::move(one));
  };
  using enum Method;
  const auto find = [](const Request&) { return std::vector<Thing>(); };
  EXPECT_TRUE(refused(kPost, Access::kViewer, {}));
  EXPECT_TRUE(refused(kDelete, Access::kAdmin, {}));
  EXPECT_TRUE(refused(kPost, Access::kMember, Changes::nothing()));
  EXPECT_TRUE(refused(kPut, Access::kMember, Changes::by_admins()));
  EXPECT_TRUE(refused(kPost, Access::kViewer, Changes::made()));
  EXPECT_TRUE(refused(kPut, Access::kMember, Changes::of({})));
  EXPECT_FALSE(refused(kGet, Access::kViewer, {}));
  EXPECT_FALSE(refused(kPost, Access::kViewer, Changes::nothing()));
  EXPECT_FALSE(refused(kPost, Access::kMember, Changes::made()));
  EXPECT_FALSE(refused(kPut, Access::kMember, Changes::of(find)));
  EXPECT_FALSE(refused(kPatch, Access::kAdmin, Changes::by_admins()));
}

TEST(Router, RefusesWhatDoesNotSayWhatItReads) {
  const auto refused = [](Method method, Access access, Changes changes, Reads reads) {
    Route one = route(method, "/a", "one");
    one.access = access;
    one.changes = std::move(changes);
    one.reads = std::move(reads);
    return is_refused(std::move(one));
  };
  using enum Method;
  const auto find = [](const Request&) { return std::vector<Thing>(); };
  EXPECT_TRUE(refused(kGet, Access::kViewer, {}, {}));
  EXPECT_TRUE(refused(kGet, Access::kOpen, {}, {}));
  EXPECT_TRUE(refused(kPost, Access::kViewer, Changes::nothing(), {}));
  EXPECT_TRUE(refused(kPost, Access::kMember, Changes::made(), {}));
  EXPECT_TRUE(refused(kGet, Access::kViewer, {}, Reads::of({})));
  EXPECT_TRUE(refused(kGet, Access::kMember, {}, Reads::by_admins()));
  EXPECT_TRUE(refused(kGet, Access::kOpen, {}, Reads::found()));
  EXPECT_FALSE(refused(kGet, Access::kViewer, {}, Reads::of(find)));
  EXPECT_FALSE(refused(kGet, Access::kViewer, {}, Reads::found()));
  EXPECT_FALSE(refused(kGet, Access::kAdmin, {}, Reads::by_admins()));
  EXPECT_FALSE(refused(kPut, Access::kMember, Changes::of(find), {}));
  EXPECT_FALSE(refused(kPost, Access::kMember, Changes::made(), Reads::nothing()));
}

}  // namespace
}  // namespace linac::http
