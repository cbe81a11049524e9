import Engine
import Membership
import Replication
import VirtualDisk
import Wire

/// Users show their circle purchases that nobody verifies, because their tokens are made up. They differ only in what
/// is read, so that replacement decides which ones are kept. Everything is drawn from a stream of its own.
extension World {
  func letPeopleBuy() {
    later(purchaseRandom.wait(options.purchasesEvery), .purchase)
    guard let device = purchaseRandom.pick(devices.filter { $0.process?.isServing == true }) else { return }
    // Adversaries make many purchases at once, so that not all of them can be kept.
    let count = !device.isHonest && purchaseRandom.happens(perThousand: 200) ? 20 : 1
    for number in 0..<count {
      let original = count > 1 ? 100 + number : purchaseRandom.below(4)
      guard let statement = try? purchase(by: device, original: original) else { return }
      install(statement, on: device)
    }
  }

  private func install(_ statement: Membership.Statement, on device: Device) {
    guard let circle = device.process?.replicator.circle, circle.statement(statement.id) == nil else {
      return
    }
    learn(device, statement)
    tally.count("purchases")
    guard let after = device.process?.replicator.circle else { return }
    if after.statement(statement.id) == nil {
      mark("purchases that were older", on: device)
    } else if after.ids.count == circle.ids.count {
      mark("purchases that replaced others", on: device)
    }
  }

  private func purchase(by device: Device, original: Int) throws -> Membership.Statement {
    let transaction = purchaseRandom.happens(perThousand: 50) ? unreadableToken() : transaction(original)
    let hasRenewal = purchaseRandom.happens(perThousand: 300)
    let body = Purchase(
      circle: authority.circle, device: device.key, transaction: transaction,
      renewal: hasRenewal ? token(#"{\#(subscription(original)),"signedDate":\#(someDate())}"#) : nil)
    return try Membership.Statement(signing: body, with: device.keys.signing)
  }

  private func transaction(_ original: Int) -> String {
    let refund = purchaseRandom.happens(perThousand: 100) ? #","revocationDate":\#(someDate())"# : ""
    return token(
      #"{\#(subscription(original)),"bundleId":"app","productId":"yearly","purchaseDate":\#(someDate()),"#
        + #""signedDate":\#(someDate()),"expiresDate":\#(someDate())\#(refund)}"#)
  }

  private func subscription(_ original: Int) -> String {
    let environment = purchaseRandom.happens(perThousand: 100) ? "Sandbox" : "Production"
    return #""environment":"\#(environment)","originalTransactionId":"\#(original)""#
  }

  /// One of few times, so that purchases often agree in some of them.
  private func someDate() -> Moment { Self.start + Moment(purchaseRandom.below(6)) * 1_000 }

  private func token(_ payload: String) -> String {
    let parts = [#"{"alg":"ES256","x5c":[]}"#, payload].map { Base64.encodeForURL(Array($0.utf8)) }
    return parts.joined(separator: ".") + ".AAAA"
  }

  private func unreadableToken() -> String { "unreadable-\(purchaseRandom.below(1_000))" }
}
