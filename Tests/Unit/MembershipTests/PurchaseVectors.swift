import Foundation
import Purchases
import Testing
import Vectors

/// Protocol/vectors/purchase.json.
struct PurchaseVectors: Decodable, Sendable {
  struct Policy: Decodable, Sendable {
    struct App: Decodable, Sendable {
      var bundle: String
      var products, groups: [String]
    }
    var apps: [App]
    var sandbox, family: Bool

    /// - Parameter root: the pinned root, in hexadecimal.
    func policy(root: String) -> PurchasePolicy {
      var policy = PurchasePolicy(
        apps: apps.map { .init(bundle: $0.bundle, products: $0.products, groups: $0.groups) },
        acceptsSandbox: sandbox, acceptsFamilySharing: family)
      policy.roots = [unhex(root)]
      return policy
    }
  }

  struct Keys: Decodable, Sendable {
    var root, intermediate, leaf, leafKey: String
  }

  struct TokenRow: Decodable, Sendable {
    var circle, token: String
  }

  struct StatementRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, bytes: String
    var error: String?
    var testDescription: String { name }
  }

  struct JudgedRow: Decodable, Sendable, CustomTestStringConvertible {
    struct Moment: Decodable, Sendable {
      var time: Int64
      var state: String
    }
    var name, transaction: String
    var renewal: String?
    var policy: Policy?
    var readable: Bool
    var genuine, bound: Bool?
    var renewalCounts: Bool
    var end, trusted: Int64?
    var at: [Moment]
    var testDescription: String { name }
  }

  struct KeptRow: Decodable, Sendable, CustomTestStringConvertible {
    var name: String
    var statements: [String]
    var kept: [Int]
    var testDescription: String { name }
  }

  struct GateRow: Decodable, Sendable, CustomTestStringConvertible {
    struct Moment: Decodable, Sendable {
      var time: Int64
      var premium: Bool
      var source: String
      var until: Int64?
      var reason: String?
    }
    var name: String
    var statements: [String]
    var policy: Policy
    var device: String
    var at: [Moment]
    var testDescription: String { name }
  }

  var root, circle: String
  var pki: Keys
  var policy: Policy
  var tokens: [TokenRow]
  var statements: [StatementRow]
  var judged: [JudgedRow]
  var kept: [KeptRow]
  var gates: [GateRow]

  static let all: PurchaseVectors = {
    do { return try vectors("purchase.json", as: PurchaseVectors.self) } catch {
      preconditionFailure("purchase.json: \(error)")
    }
  }()
}
