import Membership
import Purchases
import Simulation
import Sodium
import Wire

/// Purchases in the App Store: tokens that are read without being verified, and which statements a circle keeps because
/// of them. The simulator's judge has a reader of its own, which must read the same.
func fuzzPurchases(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(4) {
  case 0: try readTokens(choices.rest())
  case 1: try readPayload(choices.rest())
  case 2:
    let bytes = choices.rest()
    if let statement = try? Statement(bytes), case .purchase(let body) = statement.content {
      try compare(body.encoded, bytes)
    }
  default: try keepSome(&choices)
  }
}

/// A file with a transaction and its renewal info, as `entitlement install` reads it.
private func readTokens(_ bytes: [UInt8]) throws {
  let text = String(decoding: bytes, as: UTF8.self)
  try compare(transaction: text, renewal: text)
  guard let purchase = SignedPurchase(bytes) else { return }
  let written = Array("\(purchase.transaction)\n\(purchase.renewal ?? "")\n".utf8)
  try require(SignedPurchase(written) == purchase, "a purchase changes when it is written and read again")
  try compare(transaction: purchase.transaction, renewal: purchase.renewal)
}

/// Any bytes as the payload of a transaction and of a renewal info.
private func readPayload(_ payload: [UInt8]) throws {
  let header = Base64.encodeForURL(Array(#"{"alg":"ES256","x5c":["","",""]}"#.utf8))
  let token = "\(header).\(Base64.encodeForURL(payload)).AAAA"
  try compare(transaction: token, renewal: token)
}

/// Both readers have to read the same.
private func compare(transaction: String, renewal: String?) throws {
  let body = Purchase(
    circle: Cast.circle, device: DeviceKey(Cast.alice), transaction: transaction, renewal: renewal)
  let plain = PlainPurchase(transaction: Array(transaction.utf8), renewal: renewal.map { Array($0.utf8) })
  try require(
    (body.transaction == nil) == (plain.subscription == nil), "only one reader can read a transaction")
  let environment = (body.transaction?.subscription.environment).map { Array($0.utf8) }
  try require(environment == plain.subscription?.environment, "two readers read different environments")
  let times = [body.transaction?.purchased, body.transaction?.signed, body.renewal?.signed].map { $0 ?? 0 }
  try require(
    times == [plain.purchased, plain.signed, plain.renewalSigned].map { Int64($0) },
    "two readers read different times")
  _ = body.isGenuine([DevelopmentStore.root])
  _ = body.subscription(by: .everything)
}

private func compare(_ encoded: [UInt8], _ statement: [UInt8]) throws {
  var reader = CBORReader(statement)
  try reader.array(exactly: 3)
  _ = try reader.unsigned()
  try require(try reader.byteString(max: 1 << 16) == encoded, "a non-canonical purchase was accepted")
  try require(PlainPurchase.kept([statement]) == [statement], "only one reader accepts a statement")
}

/// Statements of several signers, of which a circle keeps the same in every order, and the same as the judge.
private func keepSome(_ choices: inout Choices) throws {
  var statements: [Statement] = []
  for _ in 0..<48 where !choices.isAtEnd {
    let key = choices.pick([Cast.alice, Cast.mallory])
    let body = purchase(&choices, DeviceKey(key))
    guard let statement = try? Statement(signing: body, with: key) else { continue }
    statements.append(statement)
  }
  var one = try Circle(genesis: Cast.genesis, developmentIssuer: nil)
  var other = one
  one.insert(statements)
  for statement in statements.reversed() { other.insert([statement]) }
  try require(one.ids == other.ids, "the kept purchases depend on the order of arrival")
  let all = Dictionary(statements.map { ($0.id, $0.bytes) }, uniquingKeysWith: { first, _ in first })
  let kept = PlainPurchase.kept(Array(all.values))
  try require(kept != nil, "only one reader accepts a statement")
  let held = one.statements(notIn: [one.genesisID]).map(\.bytes)
  try require(Set(kept ?? []) == Set(held), "two readers keep different purchases")
}

/// A purchase with a made-up token, or with one that can't be read.
func purchase(_ choices: inout Choices, _ signer: DeviceKey) -> Purchase {
  let subscription =
    #""environment":"\#(choices.pick(["Production", "Sandbox"]))","originalTransactionId":"\#(choices.below(24))""#
  let transaction =
    choices.below(12) == 0
    ? "unreadable-\(choices.byte())"
    : token(
      #"{\#(subscription),"bundleId":"app","productId":"yearly","purchaseDate":\#(choices.below(4)),"#
        + #""signedDate":\#(choices.below(4)),"appAccountToken":"\#(account)"}"#)
  let renewal = choices.flag() ? token(#"{\#(subscription),"signedDate":\#(choices.below(4))}"#) : nil
  return Purchase(circle: Cast.circle, device: signer, transaction: transaction, renewal: renewal)
}

private func token(_ payload: String) -> String {
  "e30.\(Base64.encodeForURL(Array(payload.utf8)))."
}

/// The account token of the circle, in its text form.
private let account: String = {
  let digits = hexadecimal(Cast.circle.appAccountToken)
  return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    .map { String(digits.dropFirst($0.lowerBound).prefix($0.count)) }.joined(separator: "-")
}()

extension PurchasePolicy {
  /// A policy by which as much as possible counts.
  fileprivate static var everything: PurchasePolicy {
    PurchasePolicy(
      apps: [App(bundle: "app", products: ["yearly"], groups: ["premium"])], acceptsSandbox: true,
      acceptsFamilySharing: true)
  }
}
