#include "linac/control/sites/kubernetes/kubeconfig.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::sites {
namespace {

class Kubeconfig : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string config(const std::string& user, const std::string& cluster = "server: https://10.0.0.1:6443/") {
    return write("config", "clusters: [{name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user +
                               "}}]\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: calo}}]\n"
                               "current-context: x\n");
  }
  std::string refusal(const std::string& file, const std::string& context = "") {
    try {
      find_access(file, context);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(Kubeconfig, HasTokensCertificatesAndFilesBesideIt) {
  KubeAccess access = find_access(config("token: abc",
                                         "server: 'https://10.0.0.1:6443/', "
                                         "certificate-authority-data: SGVsbG8="),
                                  "");
  EXPECT_EQ(access.server, "https://10.0.0.1:6443");
  EXPECT_EQ(access.token, "abc");
  EXPECT_EQ(access.ca_pem, "Hello");
  EXPECT_EQ(access.name_space, "calo");
  write("token", "from file\n");
  write("cert.pem", "certificate");
  access = find_access(config("tokenFile: token, client-certificate: cert.pem, client-key-data: SGVsbG8h"), "x");
  EXPECT_EQ(access.token, "from file");
  EXPECT_EQ(access.client_cert_pem, "certificate");
  EXPECT_EQ(access.client_key_pem, "Hello!");
}

TEST_F(Kubeconfig, SeveralFilesAreOneAndTheFirstHasTheWord) {
  const std::string first = write("first", "current-context: y\nusers: [{name: u, user: {token: mine}}]\n");
  const std::string second = config("token: other");
  write("third", "contexts: [{name: y, context: {cluster: c, user: u}}]\n");
  setenv("KUBECONFIG",
         (first + ":" + folder_.path().string() + "/none:" + second + ":" + folder_.path().string() + "/third").c_str(),
         1);
  EXPECT_EQ(find_access("", "").token, "mine");
  unsetenv("KUBECONFIG");
}

TEST_F(Kubeconfig, AsksAPlugIn) {
  const std::string program =
      write("plugin",
            "#!/bin/sh\n"
            "case $KUBERNETES_EXEC_INFO in *client.authentication.k8s.io/v1*) ;; *) exit 3 ;; esac\n"
            "[ \"$PROFILE\" = \"it's\" ] && [ \"$1\" = 'a b' ] || exit 4\n"
            "echo '{\"kind\": \"ExecCredential\", \"status\": {\"token\": \"from plug-in\"}}'\n");
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  const std::string exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: ['a b'], "
      "env: [{name: PROFILE, value: \"it's\"}]}";
  EXPECT_EQ(find_access(config(exec), "").token, "from plug-in");
  expect_in(refusal(config("exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}")), {"ends with 4"});
  expect_in(refusal(config("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: ./plugin}")),
            {"is not client.authentication.k8s.io/v1"});
  KubeAccess access;
  for (const char* said : {"", "x", "[]", "{}", R"({"kind": "ExecCredential", "status": {"token": 3}})"})
    EXPECT_THROW(take_exec_credential(said, "exec", access), Error) << said;
}

TEST_F(Kubeconfig, RefusesWhatWouldGiveCredentialsAway) {
  expect_in(refusal(config("token: a", "server: 'http://10.0.0.1'")), {"is no address https://"});
  expect_in(refusal(config("token: a", "server: 'https://a', insecure-skip-tls-verify: true")),
            {"insecure-skip-tls-verify gives your credentials"});
  expect_in(refusal(config("token: \"a\\nX-Remote-User: admin\"")), {"several lines"});
  expect_in(refusal(config("username: a, password: b")), {"no way in any more"});
  expect_in(refusal(config("token: a", "server: 'https://a', certificate-authority-data: '%%%'")), {"is no base64"});
}

TEST_F(Kubeconfig, SaysWhatIsMissing) {
  expect_in(refusal(config("token: a"), "y"), {"no context 'y'"});
  expect_in(refusal(folder_.path().string() + "/none"), {"is no file"});
  expect_in(refusal(folder_.path().string()), {"is no file"});
  expect_in(refusal(write("list", "[1, 2]")), {"no map"});
  expect_in(refusal(write("empty", "")), {"no current-context"});
}

}  // namespace
}  // namespace linac::sites
