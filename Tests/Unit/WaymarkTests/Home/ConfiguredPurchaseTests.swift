import Foundation
import Home
import Purchases
import Reasons
import Testing
import WaymarkTesting

/// Which purchases give premium by the configuration file of a home.
struct ConfiguredPurchaseTests {
  private let directory: TestHome

  init() throws {
    directory = try TestHome()
    try FileManager.default.createDirectory(
      atPath: directory.home.path, withIntermediateDirectories: true)
  }

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: directory.home.configuration))
  }

  @Test func `apps are listed with their products or groups, and nothing counts unless it is listed`() throws
  {
    #expect(try directory.home.purchases == nil)
    try write(#"{"name": "alice"}"#)
    #expect(try directory.home.purchases == nil)
    try write(
      #"""
      {"purchases": {"apps": [{"bundle": "com.example.trips", "products": ["yearly", "forever"]},
        {"bundle": "com.example.habits", "groups": ["21"]}]}}
      """#)
    let policy = try #require(try directory.home.purchases)
    #expect(
      policy.apps == [
        PurchasePolicy.App(bundle: "com.example.trips", products: ["yearly", "forever"]),
        PurchasePolicy.App(bundle: "com.example.habits", groups: ["21"]),
      ])
    #expect(!policy.acceptsSandbox && !policy.acceptsFamilySharing)
    #expect(policy.roots == [PinnedRoots.apple])
  }

  @Test func `a sandbox and shared purchases count only if the file says so, each by its own word`() throws {
    let app = #""apps": [{"bundle": "com.example.trips", "products": ["yearly"]}]"#
    try write("{\"purchases\": {\(app), \"sandbox\": true}}")
    let sandbox = try #require(try directory.home.purchases)
    #expect(sandbox.acceptsSandbox && !sandbox.acceptsFamilySharing)
    try write("{\"purchases\": {\(app), \"familySharing\": true}}")
    let shared = try #require(try directory.home.purchases)
    #expect(!shared.acceptsSandbox && shared.acceptsFamilySharing)
  }

  @Test(arguments: [
    "{}", "[]", "true", #"{"apps": {}}"#, #"{"apps": [{"products": ["yearly"]}]}"#,
    #"{"apps": [{"bundle": "com.example.trips"}]}"#,
    #"{"apps": [{"bundle": "com.example.trips", "products": [], "groups": []}]}"#,
    #"{"apps": [{"bundle": "com.example.trips", "products": "yearly"}]}"#,
    #"{"apps": [{"bundle": "com.example.trips", "products": ["yearly"]}], "sandbox": "yes"}"#,
  ])
  func `a list of purchases that can't be meant is refused, and the file is named`(text: String) throws {
    try write("{\"purchases\": \(text)}")
    let failure = #expect(throws: WaymarkError.self) { try directory.home.purchases }
    #expect(failure?.reason == .configuration)
    #expect(failure?.message.description.contains("config.json is invalid: `purchases` needs `apps`") == true)
  }

  @Test func `development builds accept their own store too, once, and no policy is lost`() {
    let app = PurchasePolicy(
      apps: [.init(bundle: "com.example.trips", products: ["yearly"])], acceptsSandbox: true)
    let policy = app.acceptingDevelopmentStore
    #expect(policy.roots == [PinnedRoots.apple, DevelopmentStore.root])
    #expect(policy.apps == app.apps && policy.acceptsSandbox && !policy.acceptsFamilySharing)
    #expect(policy.acceptingDevelopmentStore == policy)
  }
}
